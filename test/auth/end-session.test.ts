import { describe, expect, it, vi } from "vitest";
import type { Granted } from "../../src/auth/token-endpoint.js";
import { now } from "../../src/core/clock.js";
import { granted, maybeSent, notSent, type Reply, refusal, responded } from "./fake-token-endpoint.js";
import { type Fleet, fleetOf, givenFleet, type Member } from "./fleet-fixture.js";
import {
  handled,
  type ManagerFixture,
  managerFixture,
  outcomeOf,
  pass,
  session,
  settle,
  withFakeTime,
} from "./manager-fixture.js";

withFakeTime();

/** The tokens of a login that a user has just made. */
const login = (more: Partial<Granted> = {}): Granted => ({
  accessToken: "a",
  refreshToken: "refresh-of-a",
  lifetimeMs: 300_000,
  refreshLifetimeMs: undefined,
  sentAt: now(),
  ...more,
});

/** What each request was, and the refresh token that it carried. */
function sent({ fake }: Pick<ManagerFixture, "fake">): string[] {
  return fake.requests.map(({ path }, index) => {
    const { grant_type = "", refresh_token = "" } = fake.forms[index] ?? {};
    return `${path.endsWith("/logout") ? "logout" : grant_type} ${refresh_token}`.trim();
  });
}

describe("a login that has just been made", () => {
  it("brings the first token, and the refresh token for the next one", async () => {
    const fixture = managerFixture([granted("b")], { auth: session });
    await fixture.manager.begin(login());
    expect(await fixture.call()).toBe("a");
    await pass(300_000);
    expect(await fixture.call()).toBe("b");
    expect(sent(fixture)).toEqual(["refresh_token refresh-of-a"]);
  });

  it("is shared with all processes, and its refresh token is theirs too", async () => {
    const fleet = fleetOf(3);
    const [first, ...others] = fleet.members;
    await first?.manager.begin(login({ refreshToken: fleet.identity.begin() }));
    expect(await Promise.all(others.map((member) => member.call()))).toEqual(["a", "a"]);
    expect(fleet.identity.requests).toEqual([]);
    fleet.store.fault = "refuses";
    await pass(301_000);
    await outcomeOf(first?.call(), 100);
    fleet.store.fault = undefined;
    await outcomeOf(others[0]?.call(), 100);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "refresh_token"]);
    expect(fleet.identity.reused).toEqual([]);
  });
});

describe("a session of one process that is ended", () => {
  it.each<[string, Partial<Granted> | undefined, Reply[], string[]]>([
    ["before its first request", undefined, [], ["logout given"]],
    ["after a login", {}, [], ["logout refresh-of-a"]],
    ["after a renewal", { lifetimeMs: 0 }, [granted("b")], ["refresh_token refresh-of-a", "logout refresh-of-b"]],
    ["although it has ended", { lifetimeMs: 0 }, [refusal(400)], ["refresh_token refresh-of-a"]],
  ])("is ended at the identity server by the refresh token that it has: %s", async (_, begun, replies, requests) => {
    const fixture = managerFixture([...replies, responded(204, "")], { auth: session });
    if (begun !== undefined) {
      await fixture.manager.begin(login(begun));
      await fixture.call().catch(() => {});
    }
    expect(await fixture.manager.endSession()).toBeUndefined();
    expect(sent(fixture)).toEqual(requests);
    await settle();
    expect(vi.getTimerCount()).toBe(0);
  });

  it.each<[string, Reply[], object | undefined]>([
    ["its response was lost", [maybeSent()], { class: "unconfirmed" }],
    ["it failed with 500", [responded(500)], { class: "unconfirmed" }],
    ["a proxy answered it", [responded(502, "bad gateway")], { class: "unconfirmed" }],
    ["it was not sent", [notSent()], undefined],
    ["the server was starting", [responded(503)], undefined],
    ["its response was lost, and the next one came", [maybeSent(), granted("b")], undefined],
    [
      "its response was lost, and the next one named no other token",
      [maybeSent(), granted("b", { refresh_token: undefined })],
      undefined,
    ],
    ["its response was lost, and the next one refused", [maybeSent(), refusal(400)], { class: "unconfirmed" }],
    ["the client was refused, and not the token", [responded(401, { error: "invalid_client" })], undefined],
  ])(
    "is known to have ended by the word on its newest refresh token alone: of a renewal where %s",
    async (_, replies, outcome) => {
      const fixture = managerFixture(replies, { auth: session });
      for (let call = 0; call < replies.length; call++) {
        await fixture.call({ maxRetries: 0 }).catch(() => {});
        await pass(1000);
      }
      fixture.fake.expect(refusal(400));
      expect(await outcomeOf(fixture.manager.endSession(), 10)).toEqual(outcome);
      expect(sent(fixture).at(-1)).toMatch(/^logout /);
    },
  );

  it("is ended again where that failed", async () => {
    const fixture = managerFixture([notSent(), responded(204, "")], { auth: session });
    expect(await fixture.manager.endSession()).toMatchObject({ class: "unsent" });
    expect(await fixture.manager.endSession()).toBeUndefined();
    expect(sent(fixture)).toEqual(["logout given", "logout given"]);
  });

  it("is none where nobody has logged in", async () => {
    const fixture = managerFixture([]);
    expect(await fixture.manager.endSession()).toBeUndefined();
    expect(sent(fixture)).toEqual([]);
  });

  it("is ended by the refresh token of a renewal that is under way", async () => {
    const fixture = managerFixture([], { auth: session });
    const call = handled(fixture.call());
    await settle();
    const ended = fixture.manager.endSession();
    fixture.fake.expect(responded(204, ""));
    fixture.fake.reply(granted("b"));
    await Promise.all([call, ended]);
    expect(sent(fixture)).toEqual(["refresh_token given", "logout refresh-of-b"]);
  });

  it("brings no token afterwards", async () => {
    const fixture = managerFixture([responded(204, ""), granted("b")], { auth: session });
    await fixture.manager.begin(login());
    await fixture.manager.endSession();
    await pass(300_000);
    await expect(fixture.call({ maxRetries: 0 })).rejects.toMatchObject({ effect: "none" });
    expect(sent(fixture)).toEqual(["logout refresh-of-a"]);
  });

  it.each<[string, Reply[], object]>([
    ["was not sent", [notSent()], { class: "unsent", reason: "ECONNREFUSED" }],
    ["may have arrived", [maybeSent()], { class: "maybe-sent", reason: "ECONNRESET" }],
    ["is not responded to for 10 s", [], { class: "ended", reason: "DEADLINE" }],
  ])("may go on where its logout %s, which is said", async (_, replies, failure) => {
    const fixture = managerFixture(replies, { auth: session });
    expect(await outcomeOf(fixture.manager.endSession(), 10_000)).toMatchObject(failure);
    await settle();
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe("a session of many processes that is ended", () => {
  const call = (member: Member | undefined, ms = 100) => outcomeOf(member?.call(), ms);
  const end = (member: Member | undefined, ms = 0) => outcomeOf(member?.manager.endSession(), ms);

  /** No process gets a token, or sends a refresh token. */
  async function expectEnded(fleet: Fleet): Promise<void> {
    const { length } = fleet.identity.requests;
    await expect(call(fleet.join())).rejects.toMatchObject({ code: "login_refused" });
    expect(fleet.identity.requests).toHaveLength(length);
    expect(fleet.identity.reused).toEqual([]);
  }

  it("is ended at once, by the refresh token that another process has brought", async () => {
    const fleet = givenFleet(2);
    const [first, second] = fleet.members;
    await call(first);
    fleet.store.log.length = 0;
    await end(second);
    expect(fleet.store.log).toEqual(["lock", "read", "mark", "unlock"]);
    expect(fleet.identity.loggedOut).toEqual([fleet.identity.newestRefreshToken]);
    expect(fleet.identity.loggedOut).not.toEqual([fleet.given]);
    await expectEnded(fleet);
  });

  it("is ended by the refresh token that it was given, where none of the processes has used it", async () => {
    const fleet = givenFleet(1);
    await end(fleet.members[0]);
    expect(fleet.identity.loggedOut).toEqual([fleet.given]);
    await expectEnded(fleet);
  });

  it("is none where nobody has logged in, and nothing is stored of it", async () => {
    const fleet = fleetOf(1);
    expect(await end(fleet.members[0])).toBeUndefined();
    expect([fleet.identity.loggedOut, fleet.store.written]).toEqual([[], []]);
  });

  it("is none where nobody has logged in, and the store is away", async () => {
    const fleet = fleetOf(1);
    fleet.store.fault = "refuses";
    expect(await end(fleet.members[0])).toBeUndefined();
    expect(fleet.identity.loggedOut).toEqual([]);
  });

  it("is ended by the refresh token that it goes on with, where the identity server does not rotate them", async () => {
    const fleet = givenFleet(2);
    fleet.identity.rotates = false;
    await call(fleet.members[0]);
    for (const member of fleet.members) expect(await end(member)).toBeUndefined();
    expect(fleet.identity.isEnded).toBe(true);
  });

  it("is ended a second time at once", async () => {
    const fleet = givenFleet(2);
    await call(fleet.members[0]);
    for (const member of fleet.members) expect(await end(member)).toBeUndefined();
    const { newestRefreshToken } = fleet.identity;
    expect(fleet.identity.loggedOut).toEqual([newestRefreshToken, newestRefreshToken]);
  });

  it("costs the token of no process that still has one", async () => {
    const fleet = givenFleet(2);
    const [first, second] = fleet.members;
    const token = await call(first);
    await call(second);
    await end(first);
    expect(await call(second)).toBe(token);
    await pass(300_000);
    await expect(call(second)).rejects.toMatchObject({ code: "login_refused" });
    expect(fleet.identity.requests).toHaveLength(1);
  });

  it.each([
    ["its refresh token would have lived", 1800, 1_800_000],
    ["30 days, where the refresh token has no known end", undefined, 30 * 86_400_000],
  ])("stays ended for as long as %s", async (_, refreshLifetime, keptMs) => {
    const fleet = givenFleet(1);
    fleet.identity.refreshLifetime = refreshLifetime;
    await call(fleet.members[0], 0);
    const write = vi.spyOn(fleet.store, "write");
    await end(fleet.members[0]);
    expect(write.mock.calls.map(([, , ttlMs]) => ttlMs)).toEqual([keptMs]);
  });

  it("waits for the refresh token that another process is requesting", async () => {
    const fleet = givenFleet(2);
    const [first, second] = fleet.members;
    await call(first);
    await pass(301_000);
    fleet.identity.latencyMs = () => 1000;
    const renewed = handled(first?.call() ?? Promise.reject());
    await pass(500);
    await end(second, 600);
    await renewed;
    expect(fleet.identity.loggedOut).toEqual([fleet.identity.newestRefreshToken]);
    await expectEnded(fleet);
  });

  it.each([3500, 9000])(
    "waits for a renewal of another process that takes %d ms, and ends what it has brought",
    async (ms) => {
      const fleet = givenFleet(2);
      const [first, second] = fleet.members;
      fleet.identity.latencyMs = () => ms;
      handled(first?.call() ?? Promise.reject());
      await pass(100);
      expect(await end(second, ms)).toBeUndefined();
      expect(fleet.identity.isEnded).toBe(true);
      await expectEnded(fleet);
    },
  );

  it("waits until the lock of a process ends that was killed while it renewed, and takes no word for its token", async () => {
    const fleet = givenFleet(2);
    const [first, second] = fleet.members;
    fleet.identity.latencyMs = () => 1000;
    handled(first?.call() ?? Promise.reject());
    await pass(500);
    first?.stop();
    await pass(500);
    const ended = handled(second?.manager.endSession() ?? Promise.reject());
    await pass(13_900);
    expect(fleet.identity.loggedOut).toEqual([]);
    await pass(200);
    expect(await ended).toEqual({ class: "unconfirmed" });
    expect([fleet.identity.loggedOut, fleet.identity.isEnded]).toEqual([[fleet.given], false]);
    expect(await end(fleet.join())).toEqual({ class: "unconfirmed" });
    await expect(call(fleet.join(), 20_000)).rejects.toMatchObject({ code: "login_refused" });
  });

  it.each([
    ["lost", false],
    ["lost-before", true],
  ] as const)(
    "may go on where a renewal got no response, which is said at once, and is ended if that had not arrived: %s",
    async (fault, isEnded) => {
      const fleet = givenFleet(2);
      const [first, second] = fleet.members;
      await call(first);
      await pass(301_000);
      const { newestRefreshToken } = fleet.identity;
      fleet.identity.faults.push(fault);
      await call(first, 5000).catch(() => {});
      expect(await end(second)).toEqual({ class: "unconfirmed" });
      expect([fleet.identity.loggedOut, fleet.identity.isEnded]).toEqual([[newestRefreshToken], isEnded]);
    },
  );

  it("may go on where another process has a token that it could not store", async () => {
    const fleet = givenFleet(2);
    const [first, second] = fleet.members;
    const { write } = fleet.store;
    fleet.store.write = async (key, value, ...more) =>
      value.includes("spentBy") && write.call(fleet.store, key, value, ...more);
    await call(first);
    fleet.store.write = write;
    expect(await end(second)).toEqual({ class: "unconfirmed" });
  });

  it("has ended where the identity server has refused its newest refresh token, and nothing is sent", async () => {
    const fleet = givenFleet(2);
    await call(fleet.members[0]);
    await pass(301_000);
    fleet.identity.endSessions();
    await call(fleet.members[0]).catch(() => {});
    expect(await end(fleet.members[1])).toBeUndefined();
    expect(fleet.identity.loggedOut).toEqual([]);
  });

  it("is ended all the same where a store takes nothing", async () => {
    const fleet = givenFleet(1);
    fleet.store.write = async () => false;
    expect(await end(fleet.members[0], 15_000)).toEqual({ class: "unconfirmed" });
    expect(fleet.identity.loggedOut).toEqual([fleet.given]);
  });

  it.each([
    ["refuses", 0],
    ["hangs", 2000],
  ] as const)("is ended by the refresh token that it was given, where the store is away: %s", async (fault, ms) => {
    const fleet = givenFleet(1);
    fleet.store.fault = fault;
    expect(await end(fleet.members[0], ms)).toEqual({ class: "unconfirmed" });
    expect(fleet.identity.loggedOut).toEqual([fleet.given]);
  });
});
