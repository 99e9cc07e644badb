import { describe, expect, it, vi } from "vitest";
import { Session, type SessionOptions } from "../../src/auth/session.js";
import { TokenEndpoint } from "../../src/auth/token-endpoint.js";
import { now } from "../../src/core/clock.js";
import { FakeTokenEndpoint, granted, type Reply, refusal, responded } from "./fake-token-endpoint.js";
import { FaultyStore, type Fleet, fleetOf, givenFleet, type Member, type StoreFault } from "./fleet-fixture.js";
import {
  auth,
  type CallOptions,
  client,
  handled,
  managerFixture,
  outcomeOf,
  pass,
  secrets,
  session,
  settle,
  withFakeTime,
} from "./manager-fixture.js";

withFakeTime();

const lifetimeMs = 300_000;
/** The tokens of a login that a user has just made. */
const login = (more: { refreshToken?: string; lifetimeMs?: number } = {}) => ({
  ...{ accessToken: "a", refreshToken: "refresh-of-a", lifetimeMs, refreshLifetimeMs: undefined, sentAt: now() },
  ...more,
});

/** Calls of all members at once, and the time that they need. */
async function callAll(members: readonly Member[], ms = 1000): Promise<string[]> {
  const calls = members.map((member) => handled(member.call()));
  await pass(ms);
  return Promise.all(calls);
}

/** A call that the test does not wait for yet. */
function callOf(member: Member | undefined, options?: CallOptions): Promise<string> {
  if (member === undefined) throw new Error("nobody is there to do it");
  return handled(member.call(options));
}

const callNow = (member: Member | undefined, ms = 100) => outcomeOf(member?.call(), ms);
const end = (member: Member | undefined, ms = 0) => outcomeOf(member?.manager.endSession(), ms);
/** The password that a fleet begins with. Nothing of it is drawn: one of 256 other passwords would have the same mark. */
const withPassword = (password: string | (() => string)) => ({ ...auth, clientSecret: "client", password });
const grantsOf = ({ identity }: Fleet) => identity.requests.map(({ grant }) => grant);

/** Lets the access token expire, and another second pass. */
const expire = () => pass(lifetimeMs + 1000);

/** A fleet whose first access token has expired. */
async function expiredFleet(size: number): Promise<Fleet> {
  const fleet = fleetOf(size);
  await callAll(fleet.members);
  await expire();
  return fleet;
}

describe("a fleet", () => {
  it("logs in once, however many processes start at once", async () => {
    const fleet = fleetOf(20);
    fleet.identity.latencyMs = () => 200;
    expect(new Set(await callAll(fleet.members)).size).toBe(1);
    expect(await callAll([fleet.join(), ...fleet.members.slice(0, 1)])).toEqual(["access-1-2", "access-1-2"]);
    expect(grantsOf(fleet)).toEqual(["password"]);
    const events = fleet.members.flatMap((member) => member.events);
    expect(events).toEqual([{ grant: "password", expiresInMs: lifetimeMs, shared: true }]);
  });

  it("marks the refresh token in the store before it is sent, and doesn't send it if that fails", async () => {
    const fleet = await expiredFleet(1);
    fleet.store.log.length = 0;
    fleet.identity.latencyMs = () => 100;
    callOf(fleet.members[0]);
    await pass(10);
    expect(fleet.store.log).toEqual(["read", "lock", "read", "mark"]);
    expect(fleet.identity.refreshes).toBe(1);
    await pass(lifetimeMs);
    const { write } = fleet.store;
    fleet.store.write = async (key, value, ...rest) => {
      if (value.includes("spentBy")) throw new Error("disk full");
      return write.call(fleet.store, key, value, ...rest);
    };
    await callAll(fleet.members);
    expect(grantsOf(fleet)).toEqual(["password", "refresh_token", "password"]);
  });

  it("never ends the session that it shares", async () => {
    const fleet = fleetOf(2, { auth: { ...auth, endSessionOnClose: true } });
    await callAll(fleet.members);
    for (const { manager } of fleet.members) await manager.close();
    expect(fleet.identity.loggedOut).toEqual([]);
  });

  it("waits in close for the token that it requests for the others", async () => {
    const fleet = await expiredFleet(1);
    fleet.identity.latencyMs = () => 500;
    callOf(fleet.members[0]);
    await pass(100);
    await outcomeOf(fleet.members[0]?.manager.close(), 1000);
    expect(await callNow(fleet.join())).toBe("access-1-4");
  });

  it("takes a newer token from the store after a 401, and renews once if there is none", async () => {
    const fleet = fleetOf(5);
    const [old = ""] = await callAll(fleet.members);
    fleet.identity.endSessions();
    const renewals = fleet.members.map((member) => handled(member.renew(old)));
    await pass(3000);
    const renewed = new Set(await Promise.all(renewals));
    expect(renewed.size).toBe(1);
    expect(renewed).not.toContain(old);
    expect(grantsOf(fleet)).toEqual(["password", "refresh_token", "password"]);
  });

  it("takes the lock again for the login after a refresh that was refused", async () => {
    const fleet = await expiredFleet(4);
    fleet.identity.endSessions();
    fleet.identity.latencyMs = () => 9000;
    const calls = fleet.members.map((member) => handled(member.call()));
    await pass(19_000);
    expect(new Set(await Promise.all(calls)).size).toBe(1);
    expect(fleet.identity.logins).toBe(2);
  });

  it("waits for the lock of a process that was killed, and logs in once", async () => {
    const fleet = await expiredFleet(5);
    fleet.identity.latencyMs = () => 300;
    const [holder, ...others] = fleet.members;
    callOf(holder);
    await pass(10);
    holder?.stop();
    expect(new Set(await callAll(others, 16_500)).size).toBe(1);
    expect(grantsOf(fleet)).toEqual(["password", "refresh_token", "password"]);
    expect(fleet.identity.reused).toEqual([]);
  });

  it("keeps the newer token in the store when a process continues long after its lock", async () => {
    const fleet = await expiredFleet(2);
    const [holder, other] = fleet.members;
    fleet.identity.latencyMs = () => 100;
    const late = callOf(holder, { timeoutMs: 120_000 });
    await pass(20);
    holder?.stop();
    await pass(17_000);
    const newer = await callNow(other, 1000);
    holder?.resume();
    await pass(1000);
    await late.catch(() => {});
    expect(holder?.events.at(-1)).toMatchObject({ grant: "refresh_token", shared: false });
    expect(await callNow(fleet.join())).toBe(newer);
  });
});

describe("a password that is refused to a fleet", () => {
  const refusedTo = async (members: readonly Member[]) => {
    const calls = members.map((member) => handled(member.call()));
    await pass(5000);
    for (const call of calls) await expect(call).rejects.toMatchObject({ code: "login_refused" });
  };

  /** A fleet whose password is refused. */
  async function refusedFleet(size: number): Promise<Fleet> {
    const fleet = fleetOf(size, { auth: withPassword("old") });
    fleet.identity.refusesLogins = true;
    await refusedTo(fleet.members);
    expect(fleet.identity.logins).toBe(1);
    return fleet;
  }

  it("is tried by one process of those that start with it, and by one a minute later", async () => {
    const fleet = await refusedFleet(20);
    const [stored = "{}"] = fleet.store.values.values();
    expect(Object.keys(JSON.parse(stored))).toEqual(["v", "retryNotBefore"]);
    expect(JSON.parse(stored).retryNotBefore.mark).toMatch(/^[\da-f]{2}$/);
    await refusedTo([fleet.join(), fleet.join()]);
    expect([...fleet.store.values.values()]).toEqual([stored]);
    expect(fleet.identity.logins).toBe(1);
    await pass(60_000);
    await refusedTo([...fleet.members, fleet.join()]);
    expect(fleet.identity.logins).toBe(2);
  });

  it("keeps no process from logging in with another one, which ends the wait of all", async () => {
    const fleet = await refusedFleet(3);
    let password = "old";
    const other = fleet.join({ auth: withPassword(() => password) });
    await refusedTo([other]);
    fleet.identity.refusesLogins = false;
    password = "new";
    const token = await callNow(other);
    expect(await callAll(fleet.members)).toEqual([token, token, token]);
    expect(fleet.identity.logins).toBe(2);
  });
});

describe("a store", () => {
  it.each<StoreFault>(["refuses", "hangs", "loses-responses"])(
    "that is away lets processes log in on their own, spread over 30 s: %s",
    async (fault) => {
      const size = 12;
      let drawn = 0;
      const fleet = fleetOf(size, { random: () => (drawn++ % size) / size });
      fleet.store.fault = fault;
      const calls = fleet.members.map((member) => handled(member.call({ timeoutMs: 60_000, maxRetries: 0 })));
      await pass(45_000);
      expect(new Set(await Promise.all(calls)).size).toBe(size);
      const times = fleet.identity.requests.map(({ atMs }) => atMs).sort((one, other) => one - other);
      expect(times).toHaveLength(size);
      expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(15_000);
      expect(fleet.members.flatMap(({ events }) => events).every(({ shared }) => shared === false)).toBe(true);
    },
  );

  it("that is back is used again, with the session of before", async () => {
    const fleet = fleetOf(3, { auth: { ...auth, endSessionOnClose: true } });
    await callAll(fleet.members);
    fleet.store.fault = "refuses";
    for (let lifetime = 0; lifetime < 2; lifetime++) {
      await expire();
      expect(new Set(await callAll(fleet.members, 3000)).size).toBe(3);
    }
    expect([fleet.identity.logins, fleet.identity.refreshes]).toEqual([4, 3]);
    fleet.store.fault = undefined;
    await expire();
    expect(new Set(await callAll(fleet.members, 3000)).size).toBe(1);
    expect([fleet.identity.logins, fleet.identity.refreshes, fleet.identity.reused]).toEqual([4, 4, []]);
    // What a process began without the store is its own.
    for (const { manager } of fleet.members) await manager.close();
    expect(fleet.identity.loggedOut).toHaveLength(3);
  });

  it.each<[string, (fleet: Fleet) => unknown]>([
    ["wiped", ({ store }) => store.wipe()],
    ...["", "rubbish", "null", "[]", '{"v":2,"accessToken":"of v2"}'].map(
      (text): [string, (fleet: Fleet) => unknown] => [
        `filled with ${JSON.stringify(text)}`,
        ({ store }) => store.fill(text),
      ],
    ),
  ])("that is %s costs one login", async (_, spoil) => {
    const fleet = fleetOf(5);
    await callAll(fleet.members);
    await spoil(fleet);
    await expire();
    expect(new Set(await callAll([...fleet.members, fleet.join()])).size).toBe(1);
    expect(grantsOf(fleet)).toEqual(["password", "password"]);
  });

  it.each([
    ["as long as its refresh token lives", { refresh_expires_in: 1800 }, 1_800_000],
    ["30 days if nothing says how long that is", {}, 30 * 86_400_000],
    ["as long as its access token lives, without a refresh token", { refresh_token: undefined }, lifetimeMs],
  ])("keeps a session %s, and no secret of its owner", async (_, fields, ms) => {
    const fleet = fleetOf(0);
    const member = fleet.join({ transport: new FakeTokenEndpoint(granted("a", fields)) });
    const write = vi.spyOn(fleet.store, "write");
    await callNow(member, 0);
    expect(write.mock.calls.map(([, , ttlMs]) => ttlMs)).toEqual([ms]);
    for (const secret of Object.values(secrets)) expect(JSON.stringify(write.mock.calls)).not.toContain(secret);
  });
});

describe("a session that was given by its refresh token", () => {
  it("is continued by all processes, and by those that start later with the same refresh token", async () => {
    const fleet = givenFleet(5);
    expect(new Set(await callAll(fleet.members)).size).toBe(1);
    await expire();
    await callAll([...fleet.members, fleet.join()]);
    expect(grantsOf(fleet)).toEqual(["refresh_token", "refresh_token"]);
    expect(fleet.identity.reused).toEqual([]);
  });

  it("is over if a process was killed after it had marked the refresh token", async () => {
    const fleet = givenFleet(2);
    fleet.identity.latencyMs = () => 300;
    const [holder, other] = fleet.members;
    callOf(holder);
    await pass(10);
    holder?.stop();
    await expect(callNow(other, 17_000)).rejects.toMatchObject({ code: "login_refused" });
    expect(fleet.identity.requests).toHaveLength(1);
  });

  it("is told from one of another realm whose refresh token has the same text", async () => {
    const [one, other] = [fleetOf(0), fleetOf(0)];
    const [refreshToken, same] = [one.identity.begin(), other.identity.begin()];
    await callAll([one.join({ auth: { ...client, refreshToken } })]);
    await callAll([other.join({ auth: { ...client, realm: "other", refreshToken: same }, store: one.store })]);
    expect([same, other.identity.requests[0]?.refreshToken]).toEqual([refreshToken, refreshToken]);
  });

  it("has an entry of its own for each realm, client, user, and session", async () => {
    const { store, identity, join } = fleetOf(0);
    const [one, other] = [identity.begin(), identity.begin()];
    for (const owner of [
      ...[auth, { ...auth, authUrl: "https://other.example" }, { ...auth, realm: "other" }],
      ...[
        { ...auth, clientId: "other" },
        { ...auth, username: "other" },
        { ...auth, username: one },
      ],
      ...[one, other].map((refreshToken) => ({ ...client, refreshToken })),
    ]) {
      await callNow(join({ auth: owner }));
    }
    expect(store.values.size).toBe(8);
  });

  it("sends a refresh token whose mark was stored, although the store's client tells of a second write that was refused", async () => {
    const fleet = givenFleet(1);
    fleet.store.fault = "repeats";
    await callAll(fleet.members);
    expect([fleet.identity.refreshes, fleet.identity.reused]).toEqual([1, []]);
  });

  it("waits for a store that is away, and sends nothing without it", async () => {
    const fleet = givenFleet(2);
    fleet.store.fault = "refuses";
    const calls = fleet.members.map((member) => handled(member.call()));
    await pass(10_000);
    expect(fleet.identity.requests).toEqual([]);
    fleet.store.fault = undefined;
    await pass(5000);
    expect(new Set(await Promise.all(calls)).size).toBe(1);
    expect(fleet.identity.refreshes).toBe(1);
  });

  it("says in every process that it has ended, after one request", async () => {
    const fleet = givenFleet(1);
    await callAll(fleet.members);
    await expire();
    fleet.identity.endSessions();
    for (const member of [...fleet.members, fleet.join()]) {
      await expect(callNow(member)).rejects.toMatchObject({
        code: "login_refused",
        message: expect.not.stringContaining("Next attempt"),
      });
    }
    expect(fleet.identity.requests).toHaveLength(2);
  });
});

describe("the end of a session of one client", () => {
  it.each<[string, object | undefined, Reply[], (string | undefined)[]]>([
    ["before its first request", undefined, [], ["given"]],
    ["after a login", {}, [], ["refresh-of-a"]],
    ["after a renewal", { lifetimeMs: 0 }, [granted("b")], ["refresh-of-a", "refresh-of-b"]],
    ["although it has ended", { lifetimeMs: 0 }, [refusal(400)], ["refresh-of-a"]],
  ])("goes by the refresh token that it has: %s", async (_, begun, replies, sent) => {
    const { call, manager, fake } = managerFixture([...replies, responded(204, "")], { auth: session });
    if (begun !== undefined) {
      await manager.begin(login(begun));
      await call().catch(() => {});
    }
    expect(await manager.endSession()).toBeUndefined();
    expect(fake.forms.map(({ refresh_token }) => refresh_token)).toEqual(sent);
    await settle();
    expect(vi.getTimerCount()).toBe(0);
    await pass(lifetimeMs);
    await expect(call({ maxRetries: 0 })).rejects.toMatchObject({ effect: "none" });
    expect(fake.requests).toHaveLength(sent.length);
  });

  it("waits for a renewal that is under way", async () => {
    const { call, manager, fake } = managerFixture([], { auth: session });
    const called = handled(call());
    await settle();
    const ended = manager.endSession();
    fake.expect(responded(204, ""));
    fake.reply(granted("b"));
    await Promise.all([called, ended]);
    expect(fake.forms.map(({ refresh_token }) => refresh_token)).toEqual(["given", "refresh-of-b"]);
  });
});

describe("the end of a session of many processes", () => {
  const unconfirmed = { class: "unconfirmed" };

  /** No process gets a token, or sends a refresh token. */
  async function expectEnded(fleet: Fleet): Promise<void> {
    const { length } = fleet.identity.requests;
    await expect(callNow(fleet.join())).rejects.toMatchObject({ code: "login_refused" });
    expect(fleet.identity.requests).toHaveLength(length);
    expect(fleet.identity.reused).toEqual([]);
  }

  it.each([true, false])(
    "comes at once, by the newest refresh token (rotated: %s), and a second time",
    async (rotates) => {
      const fleet = givenFleet(2);
      fleet.identity.rotates = rotates;
      const [first, second] = fleet.members;
      const token = await callNow(first);
      fleet.store.log.length = 0;
      expect(await end(second)).toBeUndefined();
      expect(fleet.store.log).toEqual(["lock", "read", "mark", "unlock"]);
      expect(await end(fleet.join())).toBeUndefined();
      const { newestRefreshToken, isEnded } = fleet.identity;
      expect([fleet.identity.loggedOut, isEnded]).toEqual([[newestRefreshToken, newestRefreshToken], true]);
      // It costs the token of no process that still has one.
      expect(await callNow(first)).toBe(token);
      await expectEnded(fleet);
    },
  );

  it.each<[string, StoreFault | undefined, number]>([
    ["if none of the processes has used it", undefined, 0],
    ["if the store refuses", "refuses", 0],
    ["if the store hangs", "hangs", 2000],
  ])("goes by the refresh token that it was given %s, which proves nothing", async (_, fault, ms) => {
    const fleet = givenFleet(1);
    fleet.store.fault = fault;
    expect(await end(fleet.members[0], ms)).toEqual(unconfirmed);
    expect(fleet.identity.loggedOut).toEqual([fleet.given]);
  });

  it("waits for the refresh token that another process is requesting", async () => {
    const fleet = givenFleet(2);
    fleet.identity.latencyMs = () => 9000;
    const [first, second] = fleet.members;
    callOf(first);
    await pass(100);
    expect(await end(second, 9000)).toBeUndefined();
    expect(fleet.identity.loggedOut).toEqual([fleet.identity.newestRefreshToken]);
    await expectEnded(fleet);
  });

  it("has come if the identity provider has refused its newest refresh token, and nothing is sent", async () => {
    const fleet = givenFleet(2);
    await callNow(fleet.members[0]);
    await expire();
    fleet.identity.endSessions();
    await callNow(fleet.members[0]).catch(() => {});
    expect(await end(fleet.members[1])).toBeUndefined();
    expect(fleet.identity.loggedOut).toEqual([]);
  });
});

/** A session over a store that always holds this entry, and gives its lock or doesn't. */
function sessionOver(entry: object | undefined, isFree = true, more: Partial<SessionOptions> = {}) {
  const times = { lock: 0, write: 0 };
  const fake = new FakeTokenEndpoint();
  const options: SessionOptions = {
    ...{ auth, random: () => 0, signal: new AbortController().signal },
    endpoint: new TokenEndpoint({ auth, transport: fake }),
    store: {
      read: async () => entry && { value: JSON.stringify({ v: 1, ...entry }), version: "1" },
      async lock() {
        times.lock += 1;
        return isFree;
      },
      unlock: async () => {},
      async write() {
        times.write += 1;
        return true;
      },
    },
    ...more,
  };
  return { session: new Session(options), fake, times };
}

describe("a process that shares its session", () => {
  const fresh = { accessToken: "b", lifetimeMs, refreshToken: "refresh-of-b" };
  const failed = (failure: object) => ({ failure, kind: "refresh" });

  it("sends nothing while it's too early", async () => {
    const retryNotBefore = { atMs: Date.now() + 60_000, status: 429 };
    const { session, fake, times } = sessionOver({ retryNotBefore });
    const throttled = { class: "throttled", status: 429, retryAfterMs: 60_000 };
    expect(await outcomeOf(session.renew([]), 1000)).toEqual(failed(throttled));
    expect([fake.requests, times.write]).toEqual([[], 0]);
  });

  it.each([
    ["CLOSED", 1, { signal: AbortSignal.abort() }],
    ["LOCKED", 601, {}],
    ["LOCKED", 61, { random: () => 1 }],
  ])("waits for a lock for 30 s, every 50 to 500 ms, unless it's closed: %s after %i", async (reason, locks, more) => {
    const { session, times } = sessionOver(undefined, false, more);
    expect(await outcomeOf(session.renew([]), 31_000)).toEqual(failed({ class: "unshared", reason }));
    expect(times.lock).toBe(locks);
  });

  it("says that a store gave no answer in time", async () => {
    const store = new FaultyStore();
    store.fault = "hangs";
    const { session: shared } = sessionOver(undefined, true, { store });
    expect(await outcomeOf(shared.renew([]), 3000)).toEqual(failed({ class: "unshared", reason: "TIMEOUT" }));
  });

  it.each<[string, entry: object | undefined, ended: object | undefined, more?: Partial<SessionOptions>]>([
    ["no session", undefined, undefined],
    ["a session without a refresh token", { accessToken: "a" }, undefined],
    ["the one that it was given", undefined, { refreshToken: "given", isNewest: false }, { auth: session }],
    ["the one in the store", fresh, { refreshToken: "refresh-of-b", isNewest: true }],
  ])("ends %s", async (_, entry, ended, more) => {
    const { session: shared, times } = sessionOver(entry, true, more);
    expect(await shared.end()).toEqual(ended);
    expect(times.write).toBe(ended === undefined ? 0 : 1);
  });

  it("ends its session after it has waited for the lock for 15 s", async () => {
    const { session: shared, times } = sessionOver(fresh, false);
    expect(await outcomeOf(shared.end(), 16_000)).toMatchObject({ isNewest: true });
    expect(times.lock).toBe(301);
  });
});
