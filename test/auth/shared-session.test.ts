import { describe, expect, it, vi } from "vitest";
import { TokenError } from "../../src/core/errors.js";
import { FakeTokenEndpoint, granted } from "./fake-token-endpoint.js";
import { type Fleet, fleetOf, givenFleet, type Member } from "./fleet-fixture.js";
import {
  auth,
  type CallOptions,
  client,
  handled,
  outcomeOf,
  pass,
  secrets,
  settle,
  withFakeTime,
} from "./manager-fixture.js";

withFakeTime();

/** Nothing of it is drawn: one of 256 other passwords would have the same mark. */
const withPassword = (password: string | (() => string)) => ({ ...auth, clientSecret: "client", password });

/** Calls of all members at once, and the time that they need. */
async function callAll(members: readonly Member[], ms = 1000): Promise<string[]> {
  const calls = members.map((member) => handled(member.call()));
  await pass(ms);
  return Promise.all(calls);
}

/** Lets the access token expire, and another second pass. */
async function expire({ identity }: Fleet): Promise<void> {
  await pass(identity.lifetime * 1000 + 1000);
}

/** A fleet whose first access token has expired. */
async function expiredFleet(size: number): Promise<Fleet> {
  const fleet = fleetOf(size);
  await callAll(fleet.members);
  await expire(fleet);
  return fleet;
}

/** A call that the test does not wait for yet. */
function callOf(member: Member | undefined, options?: CallOptions): Promise<string> {
  if (member === undefined) throw new Error("nobody is there to do it");
  return handled(member.call(options));
}

describe("a fleet", () => {
  it("logs in once, however many processes start at once", async () => {
    const fleet = fleetOf(20);
    fleet.identity.latencyMs = () => 200;
    expect(new Set(await callAll(fleet.members)).size).toBe(1);
    expect(fleet.identity.logins).toBe(1);
    expect(await callAll([fleet.join(), ...fleet.members.slice(0, 1)])).toEqual(["access-1-2", "access-1-2"]);
    expect(fleet.identity.requests).toHaveLength(1);
  });

  it("renews once a lifetime, with the refresh token that the store has", async () => {
    const fleet = fleetOf(10);
    fleet.identity.latencyMs = () => 100;
    await callAll(fleet.members);
    for (let lifetime = 1; lifetime <= 5; lifetime++) {
      await expire(fleet);
      expect(new Set(await callAll(fleet.members)).size).toBe(1);
      expect(fleet.identity.refreshes).toBe(lifetime);
    }
    expect(fleet.identity.logins).toBe(1);
    expect(fleet.identity.reused).toEqual([]);
  });

  it("goes on with the old token while one process renews it", async () => {
    const fleet = fleetOf(3);
    const [old] = await callAll(fleet.members);
    await pass(296_000);
    fleet.identity.latencyMs = () => 1500;
    const calls = fleet.members.map((member) => handled(member.call()));
    await pass(0);
    expect(await Promise.all(calls)).toEqual([old, old, old]);
    await pass(2500);
    const renewed = await callAll(fleet.members);
    expect(renewed).not.toContain(old);
    expect(fleet.identity.refreshes).toBe(1);
  });

  it("lets a process close at once while another one requests the token, although it requested the last", async () => {
    const fleet = await expiredFleet(1);
    fleet.identity.latencyMs = () => 5000;
    const other = handled(fleet.join().call());
    await pass(100);
    for (const member of fleet.members) callOf(member);
    await pass(100);
    const closed = vi.fn();
    for (const { manager } of fleet.members) void manager.close().then(closed);
    await settle();
    expect(closed).toHaveBeenCalledOnce();
    await pass(6000);
    expect(await other).toBe("access-1-4");
  });

  it.each([
    ["begins with a token that need not be renewed yet", 294_999, "access-1-2", ["read"]],
    [
      "renews a token that is due, rather than begin with it",
      295_000,
      "access-1-4",
      ["read", "lock", "read", "mark", "read", "write", "unlock"],
    ],
  ])("lets a process that starts ask for no more than it needs: it %s", async (_, atMs, token, asked) => {
    const fleet = fleetOf(1);
    await callAll(fleet.members, 0);
    await pass(atMs);
    fleet.store.log.length = 0;
    expect(await callAll([fleet.join()], 0)).toEqual([token]);
    expect(fleet.store.log).toEqual(asked);
  });

  it("marks the refresh token in the store before it is sent", async () => {
    const fleet = await expiredFleet(1);
    fleet.store.log.length = 0;
    fleet.identity.latencyMs = () => 100;
    callOf(fleet.members[0]);
    await pass(10);
    expect(fleet.store.log).toEqual(["read", "lock", "read", "mark"]);
    expect(fleet.identity.refreshes).toBe(1);
    await pass(200);
    expect(fleet.store.log.slice(4)).toEqual(["read", "write", "unlock"]);
  });

  it("does not send the refresh token where the mark can't be written", async () => {
    const fleet = await expiredFleet(1);
    const { write } = fleet.store;
    fleet.store.write = async (key, value, ...rest) => {
      if (value.includes("spentBy")) throw new Error("disk full");
      return write.call(fleet.store, key, value, ...rest);
    };
    await callAll(fleet.members);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "password"]);
  });

  it("keeps no token in its events, and says which tokens are shared", async () => {
    const fleet = await expiredFleet(2);
    await callAll(fleet.members);
    expect(fleet.members.flatMap(({ events }) => events)).toEqual([
      { grant: "password", expiresInMs: 300_000, shared: true },
      { grant: "refresh_token", expiresInMs: 300_000, shared: true },
    ]);
  });

  it("waits in close for the token that it requests for the others", async () => {
    const fleet = await expiredFleet(2);
    fleet.identity.latencyMs = () => 500;
    const [first, second] = fleet.members;
    callOf(first);
    await pass(100);
    await outcomeOf(first?.manager.close(), 1000);
    expect(vi.getTimerCount()).toBe(0);
    await outcomeOf(second?.call(), 100);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "refresh_token"]);
  });

  it("waits in close for no token that another process requests, and asks the store no more", async () => {
    const fleet = fleetOf(2);
    fleet.identity.latencyMs = () => 9000;
    const [first, second] = fleet.members;
    const abort = new AbortController();
    callOf(first);
    await pass(100);
    const aborted = callOf(second, { signal: abort.signal });
    await pass(100);
    abort.abort();
    let isClosed = false;
    void second?.manager.close().then(() => {
      isClosed = true;
    });
    await pass(0);
    expect(isClosed).toBe(true);
    await expect(aborted).rejects.toMatchObject({ kind: "abort" });
    await pass(600);
    fleet.store.log.length = 0;
    await pass(5000);
    expect(fleet.store.log).toEqual([]);
  });

  it("never ends the session that it shares", async () => {
    const fleet = fleetOf(2, { auth: { ...auth, endSessionOnClose: true } });
    await callAll(fleet.members);
    for (const { manager } of fleet.members) await manager.close();
    expect(fleet.identity.loggedOut).toEqual([]);
  });

  it("takes a newer token from the store after a 401, and renews once where there is none", async () => {
    const fleet = fleetOf(5);
    const [old = ""] = await callAll(fleet.members);
    fleet.identity.endSessions();
    const renewals = fleet.members.map((member) => handled(member.renew(old)));
    await pass(3000);
    const renewed = new Set(await Promise.all(renewals));
    expect(renewed.size).toBe(1);
    expect(renewed).not.toContain(old);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "refresh_token", "password"]);
  });

  it("logs in where the refresh token has expired, without sending it", async () => {
    const fleet = fleetOf(2);
    fleet.identity.refreshLifetime = 400;
    await callAll(fleet.members);
    await pass(500_000);
    await callAll(fleet.members);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "password"]);
  });
});

describe("the lock", () => {
  it("is not relied on: a refresh token is sent once, even where everyone gets the lock", async () => {
    const fleet = fleetOf(10);
    await callAll(fleet.members);
    fleet.store.losesLocks = true;
    fleet.identity.latencyMs = () => 300;
    for (let lifetime = 0; lifetime < 3; lifetime++) {
      await expire(fleet);
      await callAll(fleet.members, 3000);
    }
    expect(fleet.identity.reused).toEqual([]);
  });

  it("is taken anew for the login after a refresh that was refused", async () => {
    const fleet = await expiredFleet(4);
    fleet.identity.endSessions();
    fleet.identity.latencyMs = () => 9000;
    const calls = fleet.members.map((member) => handled(member.call()));
    await pass(19_000);
    expect(new Set(await Promise.all(calls)).size).toBe(1);
    expect(fleet.identity.logins).toBe(2);
  });

  it("is asked for again after 50 to 500 ms, which each process draws", async () => {
    for (const [drawn, gapMs] of [
      [0, 50],
      [0.5, 275],
      [1, 500],
    ] as const) {
      const fleet = fleetOf(2, { random: () => drawn });
      fleet.identity.latencyMs = () => 9000;
      const [first, second] = fleet.members;
      callOf(first);
      await pass(10);
      const { lock } = fleet.store;
      const asked: number[] = [];
      fleet.store.lock = (...request) => {
        asked.push(performance.now());
        return lock.apply(fleet.store, request);
      };
      callOf(second);
      await pass(3000);
      const gaps = asked.slice(1).map((at, index) => at - (asked[index] ?? 0));
      expect(gaps.length).toBeGreaterThan(4);
      expect(new Set(gaps)).toEqual(new Set([gapMs]));
    }
  });
});

describe("a process that stops at the wrong moment", () => {
  it("costs the others the time of its lock, and one login, where it was killed with the lock", async () => {
    const fleet = await expiredFleet(5);
    fleet.identity.latencyMs = () => 300;
    const [holder, ...others] = fleet.members;
    callOf(holder);
    await pass(10);
    holder?.stop();
    const calls = others.map((member) => handled(member.call()));
    await pass(16_500);
    expect(new Set(await Promise.all(calls)).size).toBe(1);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "refresh_token", "password"]);
    expect(fleet.identity.reused).toEqual([]);
  });

  it("sends nothing that another process has sent, where it goes on after its lock has ended", async () => {
    const fleet = await expiredFleet(2);
    const [holder, other] = fleet.members;
    fleet.store.latencyMs = () => 10;
    const late = callOf(holder, { timeoutMs: 120_000 });
    // After its lock, before its mark.
    await pass(22);
    holder?.stop();
    await outcomeOf(other?.call(), 17_000);
    holder?.resume();
    await pass(2000);
    expect(await late).toBe(await other?.call());
    expect(fleet.identity.refreshes).toBe(1);
    expect(fleet.identity.reused).toEqual([]);
  });

  it("keeps the newer token in the store, where its own comes late", async () => {
    const fleet = await expiredFleet(2);
    const [holder, other] = fleet.members;
    fleet.identity.latencyMs = () => 100;
    const late = callOf(holder, { timeoutMs: 120_000 });
    await pass(20);
    holder?.stop();
    await pass(17_000);
    const newer = await outcomeOf(other?.call(), 1000);
    holder?.resume();
    await pass(1000);
    await late.catch(() => {});
    expect(holder?.events.at(-1)).toMatchObject({ grant: "refresh_token", shared: false });
    expect(await outcomeOf(fleet.join().call(), 100)).toBe(newer);
    expect(fleet.identity.reused).toEqual([]);
  });
});

describe("a token request that fails", () => {
  it.each(["lost", "lost-before", "bad-gateway"] as const)(
    "costs one login where the refresh token may have been used: %s",
    async (fault) => {
      const fleet = await expiredFleet(3);
      fleet.identity.faults.push(fault);
      await callAll(fleet.members, 5000);
      expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "refresh_token", "password"]);
      expect(fleet.identity.reused).toEqual([]);
    },
  );

  it.each(["unsent", "failing", "throttled"] as const)(
    "costs no login where it was certainly not used: %s",
    async (fault) => {
      const fleet = await expiredFleet(3);
      fleet.identity.faults.push(fault);
      await callAll(fleet.members, 6000);
      expect(fleet.identity.logins).toBe(1);
      expect(fleet.identity.reused).toEqual([]);
    },
  );
});

it("asks a throttling endpoint once for all processes, until the time that it names", async () => {
  const fleet = await expiredFleet(5);
  fleet.identity.faults.push("throttled");
  const calls = fleet.members.map((member) => handled(member.call()));
  await pass(1900);
  expect(fleet.identity.requests).toHaveLength(2);
  await pass(1600);
  expect(new Set(await Promise.all(calls)).size).toBe(1);
  expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "refresh_token", "refresh_token"]);
});

describe("a password that is refused", () => {
  const wrong = "login_refused";
  const refusedTo = (members: readonly Member[]) =>
    Promise.all(members.map((member) => expect(outcomeOf(member.call(), 5000)).rejects.toMatchObject({ code: wrong })));

  it("is tried by one process of those that start with it, and by one a minute later", async () => {
    const fleet = fleetOf(20, { auth: withPassword("old") });
    fleet.identity.refusesLogins = true;
    await refusedTo(fleet.members);
    expect(fleet.identity.logins).toBe(1);
    await refusedTo([fleet.join(), fleet.join()]);
    expect(fleet.identity.logins).toBe(1);
    await pass(60_000);
    await refusedTo([...fleet.members, fleet.join()]);
    expect(fleet.identity.logins).toBe(2);
  });

  it("keeps no process from logging in with another one, which ends the wait of all", async () => {
    const fleet = fleetOf(3, { auth: withPassword("old") });
    fleet.identity.refusesLogins = true;
    await refusedTo(fleet.members);
    fleet.identity.refusesLogins = false;
    const token = await outcomeOf(fleet.join({ auth: withPassword("new") }).call(), 100);
    expect(await callAll(fleet.members)).toEqual([token, token, token]);
    expect(fleet.identity.logins).toBe(2);
  });

  it("is followed at once by another one that a function gives, in a process that has not tried it itself", async () => {
    const fleet = fleetOf(1, { auth: withPassword("old") });
    fleet.identity.refusesLogins = true;
    await refusedTo(fleet.members);
    let password = "old";
    const other = fleet.join({ auth: withPassword(() => password) });
    await refusedTo([other]);
    expect(fleet.identity.logins).toBe(1);
    fleet.identity.refusesLogins = false;
    password = "new";
    expect(await outcomeOf(other.call(), 100)).toMatch(/^access-/);
    expect(fleet.identity.logins).toBe(2);
  });

  it("is told by eight bits of what it is, and by nothing else", async () => {
    const fleet = fleetOf(1, { auth: withPassword("old") });
    fleet.identity.refusesLogins = true;
    await refusedTo(fleet.members);
    const [stored = "{}"] = fleet.store.values.values();
    expect(JSON.parse(stored)).toEqual({
      v: 1,
      retryNotBefore: { atMs: Date.now() - 5000 + 60_000, mark: expect.stringMatching(/^[\da-f]{2}$/), status: 400 },
    });
  });

  it.each(["failing", "throttled", "lost"] as const)("is none where the login failed otherwise: %s", async (fault) => {
    const fleet = fleetOf(1, { auth: withPassword("old") });
    fleet.identity.faults.push(fault);
    callOf(fleet.members[0], { timeoutMs: 500 });
    await pass(1000);
    expect(await outcomeOf(fleet.join().call(), 5000)).toMatch(/^access-/);
  });
});

describe("a store", () => {
  it("that is away costs a process with a live token nothing", async () => {
    const fleet = fleetOf(3, { random: () => 0.9 });
    const [old] = await callAll(fleet.members);
    fleet.store.fault = "refuses";
    await pass(296_000);
    expect(new Set(await callAll(fleet.members, 100))).toEqual(new Set([old]));
    expect(fleet.identity.requests).toHaveLength(1);
  });

  it.each(["refuses", "hangs", "loses-responses"] as const)(
    "that is away lets processes log in on their own, spread over 30 s: %s",
    async (fault) => {
      const size = 12;
      let drawn = 0;
      const fleet = fleetOf(0, { random: () => (drawn++ % size) / size });
      fleet.store.fault = fault;
      const members = Array.from({ length: size }, () => fleet.join());
      const calls = members.map((member) => handled(member.call({ timeoutMs: 60_000, maxRetries: 0 })));
      await pass(45_000);
      expect(new Set(await Promise.all(calls)).size).toBe(size);
      expect(fleet.identity.logins).toBe(size);
      const times = fleet.identity.requests.map(({ atMs }) => atMs).sort((one, other) => one - other);
      expect((times.at(-1) ?? 0) - (times[0] ?? 0)).toBeGreaterThan(15_000);
      expect(members.flatMap(({ events }) => events).every(({ shared }) => shared === false)).toBe(true);
    },
  );

  it("that is away says so to a call whose time is up", async () => {
    const fleet = fleetOf(1, { random: () => 0.9 });
    fleet.store.fault = "refuses";
    const error = await outcomeOf(
      callOf(fleet.members[0], { timeoutMs: 5000 }).catch((thrown: unknown) => thrown),
      6000,
    );
    expect(error).toBeInstanceOf(TokenError);
    expect(error).toMatchObject({
      code: "token_store_failed",
      message: expect.stringContaining("the token store can't be used (ECONNREFUSED)"),
    });
  });

  it("that is back is used again, and the session of before goes on", async () => {
    const fleet = fleetOf(3);
    await callAll(fleet.members);
    fleet.store.fault = "refuses";
    await expire(fleet);
    expect(new Set(await callAll(fleet.members, 3000)).size).toBe(3);
    fleet.store.fault = undefined;
    await expire(fleet);
    expect(new Set(await callAll(fleet.members, 3000)).size).toBe(1);
    expect(fleet.identity.reused).toEqual([]);
    expect(fleet.identity.requests.at(-1)?.grant).toBe("refresh_token");
    expect(fleet.identity.logins).toBe(4);
  });

  it("that stays away costs each process one login, and its own refreshes", async () => {
    const fleet = fleetOf(2, { auth: { ...auth, endSessionOnClose: true } });
    fleet.store.fault = "refuses";
    for (let lifetime = 0; lifetime < 3; lifetime++) {
      await callAll(fleet.members, 3000);
      await expire(fleet);
    }
    expect(fleet.identity.logins).toBe(2);
    expect(fleet.identity.refreshes).toBe(4);
    // Such a session is the process's own.
    for (const { manager } of fleet.members) await manager.close();
    expect(fleet.identity.loggedOut).toHaveLength(2);
  });

  it("that is wiped costs one login", async () => {
    const fleet = fleetOf(5);
    await callAll(fleet.members);
    fleet.store.wipe();
    await expire(fleet);
    expect(new Set(await callAll(fleet.members)).size).toBe(1);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "password"]);
  });

  it.each(["", "rubbish", "null", "[]", '{"v":2}'])(
    "that is filled with rubbish costs one login: %s",
    async (rubbish) => {
      const fleet = fleetOf(5);
      await callAll(fleet.members);
      await fleet.store.fill(rubbish);
      await expire(fleet);
      expect(new Set(await callAll(fleet.members)).size).toBe(1);
      expect(new Set(await callAll([fleet.join()]))).toEqual(new Set(await callAll(fleet.members)));
      expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "password"]);
    },
  );

  it.each([
    ["as long as its refresh token lives", { refresh_expires_in: 1800 }, 1_800_000],
    ["30 days if nothing says how long that is", {}, 30 * 86_400_000],
    ["30 days at most", { refresh_expires_in: 9_999_999 }, 30 * 86_400_000],
    ["as long as its access token lives, without a refresh token", { refresh_token: undefined }, 300_000],
  ])("keeps a session %s", async (_, fields, ms) => {
    const fleet = fleetOf(0);
    const member = fleet.join({ transport: new FakeTokenEndpoint(granted("a", fields)) });
    const write = vi.spyOn(fleet.store, "write");
    await outcomeOf(member.call(), 0);
    expect(write.mock.calls.map(([, , ttlMs]) => ttlMs)).toEqual([ms]);
  });

  it("holds no password, no secret of the client and no name", async () => {
    const fleet = fleetOf(1);
    await callAll(fleet.members);
    const stored = JSON.stringify([...fleet.store.values]);
    for (const secret of Object.values(secrets)) expect(stored).not.toContain(secret);
  });
});

describe("a session that was given by its refresh token", () => {
  it("is continued by all processes, and by those that start later with the same refresh token", async () => {
    const fleet = givenFleet(5);
    expect(new Set(await callAll(fleet.members)).size).toBe(1);
    await expire(fleet);
    await callAll([...fleet.members, fleet.join()]);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["refresh_token", "refresh_token"]);
    expect(fleet.identity.reused).toEqual([]);
  });

  it("is over where a process was killed after it had marked the refresh token", async () => {
    const fleet = givenFleet(2);
    fleet.identity.latencyMs = () => 300;
    const [holder, other] = fleet.members;
    callOf(holder);
    await pass(10);
    holder?.stop();
    const call = outcomeOf(other?.call(), 17_000);
    await expect(call).rejects.toMatchObject({
      code: "login_refused",
      message: expect.stringContaining("Build a client with another refreshToken"),
    });
    expect(fleet.identity.requests).toHaveLength(1);
  });

  it.each(["lost", "lost-before", "bad-gateway", "failing", "throttled", "unsent"] as const)(
    "never sends a refresh token twice that may have been used: %s",
    async (fault) => {
      const fleet = givenFleet(2);
      fleet.identity.faults.push(fault);
      await Promise.allSettled(fleet.members.map((member) => outcomeOf(member.call(), 20_000)));
      const isGood = ["failing", "throttled", "unsent"].includes(fault);
      expect([fleet.identity.reused, fleet.identity.isEnded]).toEqual([[], false]);
      if (isGood) expect(new Set(await callAll(fleet.members)).size).toBe(1);
      else expect(fleet.identity.refreshes).toBe(1);
    },
  );

  it("is told from one of another realm whose refresh token has the same text", async () => {
    const [one, other] = [fleetOf(0), fleetOf(0)];
    const [refreshToken, same] = [one.identity.begin(), other.identity.begin()];
    const { store } = one;
    await callAll([one.join({ auth: { ...client, refreshToken }, store })]);
    await callAll([other.join({ auth: { ...client, realm: "other", refreshToken: same }, store })]);
    expect([same, other.identity.requests[0]?.refreshToken]).toEqual([refreshToken, refreshToken]);
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

  it("says why it ended, and that nothing is to be waited for", async () => {
    const fleet = givenFleet(1);
    fleet.identity.endSessions();
    await expect(outcomeOf(fleet.members[0]?.call(), 100)).rejects.toMatchObject({
      code: "login_refused",
      serviceCode: "invalid_grant",
      message: expect.not.stringContaining("before"),
    });
  });

  it("says why it ended in every process, by one request", async () => {
    const fleet = givenFleet(1);
    await callAll(fleet.members);
    await pass(301_000);
    fleet.identity.endSessions();
    for (const member of [...fleet.members, fleet.join()]) {
      await expect(outcomeOf(member.call(), 100)).rejects.toMatchObject({
        code: "login_refused",
        message: expect.stringContaining("does not continue the session of auth.refreshToken"),
      });
    }
    expect(fleet.identity.requests).toHaveLength(2);
  });

  it.each<[string, string, (fleet: Fleet) => unknown]>([
    ["is locked by somebody who never unlocks it", "LOCKED", ({ store }) => store.block(1e9)],
    ["can't be waited for, since the client was closed", "CLOSED", ({ members }) => members[0]?.manager.close()],
  ])("says that the store %s", async (_, reason, spoil) => {
    const fleet = givenFleet(1);
    await callAll(fleet.members);
    await fleet.store.block(1e9);
    await expire(fleet);
    await spoil(fleet);
    const call = outcomeOf(fleet.members[0]?.call({ timeoutMs: 60_000 }), 60_000);
    await expect(call).rejects.toMatchObject({
      code: "token_store_failed",
      message: expect.stringContaining(`the token store can't be used (${reason})`),
    });
  });
});
