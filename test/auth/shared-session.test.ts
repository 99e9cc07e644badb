import { describe, expect, it, vi } from "vitest";
import { TokenError } from "../../src/core/errors.js";
import { FakeTokenEndpoint, granted, refusal, responded } from "./fake-token-endpoint.js";
import { type FaultyStore, type Fleet, fleetOf, givenFleet, type Member, type StoreFault } from "./fleet-fixture.js";
import {
  auth,
  type CallOptions,
  client,
  handled,
  outcomeOf,
  pass,
  secrets,
  session,
  settle,
  withFakeTime,
} from "./manager-fixture.js";
import type { IdentityFault } from "./rotating-identity.js";

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

/** The tokens of the members are obtained, or renewed, and expire: twice. */
async function renewTwice(members: () => readonly Member[]): Promise<void> {
  for (let renewal = 1; renewal <= 2; renewal += 1) {
    await callAll(members());
    await pass(300_000);
  }
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

  it("lets a process that starts during a renewal go on with the token that still lives", async () => {
    const fleet = fleetOf(1);
    const [old] = await callAll(fleet.members);
    await pass(296_000);
    fleet.identity.latencyMs = () => 2000;
    await callAll(fleet.members, 0);
    expect(await outcomeOf(fleet.join().call(), 0)).toBe(old);
    expect(fleet.identity.requests).toHaveLength(2);
  });

  it.each([
    ["goes on with a token that lives for more than a second", 298_999, "access-1-2"],
    ["waits for the next token in the last second of this one", 299_000, "access-1-4"],
  ])("lets a process that starts during a renewal wait only where it has to: it %s", async (_, atMs, token) => {
    const fleet = fleetOf(1);
    await callAll(fleet.members, 0);
    await pass(296_000);
    fleet.identity.latencyMs = () => 5000;
    await callAll(fleet.members, 0);
    await pass(atMs - 296_000);
    const call = handled(fleet.join().call());
    await pass(token === "access-1-2" ? 0 : 3000);
    expect(await call).toBe(token);
  });

  it("lets a process close at once while another one requests the token, although it requested the last", async () => {
    const fleet = await expiredFleet(1);
    fleet.identity.latencyMs = () => 5000;
    const other = handled(fleet.join().call());
    await pass(100);
    const waiting = fleet.members.map((member) => handled(member.call()));
    await pass(100);
    const closed = vi.fn();
    for (const { manager } of fleet.members) void manager.close().then(closed);
    await settle();
    expect(closed).toHaveBeenCalledOnce();
    await pass(6000);
    expect(await other).toBe("access-1-4");
    await Promise.allSettled(waiting);
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

  it("waits in close for 2 s at most", async () => {
    const fleet = fleetOf(1);
    fleet.identity.latencyMs = () => 9000;
    const [member] = fleet.members;
    callOf(member);
    await pass(100);
    let isClosed = false;
    void member?.manager.close().then(() => {
      isClosed = true;
    });
    await pass(1999);
    expect(isClosed).toBe(false);
    await pass(1);
    expect(isClosed).toBe(true);
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

  it("logs in where the identity server repeats the token that the service refused", async () => {
    const identity = new FakeTokenEndpoint(granted("a"), granted("a"), granted("b"));
    const member = fleetOf(0).join({ transport: identity });
    const used = await outcomeOf(member.call(), 0);
    expect(await outcomeOf(member.renew(used), 0)).toBe("b");
    expect(identity.grants).toEqual(["password", "refresh_token", "password"]);
  });

  it("says that the identity server repeats a token that was refused, where there is nothing to log in with", async () => {
    const identity = new FakeTokenEndpoint(granted("a"), granted("a"));
    const member = fleetOf(0).join({ transport: identity, auth: { ...client, refreshToken: "given" } });
    const used = await outcomeOf(member.call(), 0);
    await expect(outcomeOf(member.renew(used), 0)).rejects.toMatchObject({ code: "token_rejected" });
  });

  it("does not take its expired token from the store once more because the wall clock was set back", async () => {
    const fleet = fleetOf(1);
    const [old] = await callAll(fleet.members);
    vi.setSystemTime(Date.now() - 3_600_000);
    await expire(fleet);
    expect(await callAll(fleet.members)).not.toEqual([old]);
    expect(fleet.identity.refreshes).toBe(1);
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
  it("is followed by another look: someone may have renewed while it was asked for", async () => {
    const fleet = await expiredFleet(2);
    const { lock } = fleet.store;
    let locks = 0;
    fleet.store.lock = async (...request) => {
      locks += 1;
      if (locks === 2) await new Promise((resolve) => setTimeout(resolve, 1000));
      return lock.apply(fleet.store, request);
    };
    expect(new Set(await callAll(fleet.members, 2000)).size).toBe(1);
    expect(fleet.identity.refreshes).toBe(1);
  });

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

  it("is kept for the login after a refresh that was refused, and then given back", async () => {
    const fleet = await expiredFleet(1);
    fleet.identity.endSessions();
    fleet.store.log.length = 0;
    await callAll(fleet.members);
    expect(fleet.store.log).toEqual(["read", "lock", "read", "mark", "lock", "read", "write", "unlock"]);
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
      refused: { mark: expect.stringMatching(/^[\da-f]{2}$/), status: 400, untilMs: expect.any(Number) },
    });
  });

  it("is held back for a minute from when it was tried, and not from when others found that", async () => {
    const fleet = fleetOf(1, { auth: withPassword("old") });
    fleet.identity.refusesLogins = true;
    await refusedTo(fleet.members);
    await pass(50_000);
    await refusedTo([fleet.join()]);
    await pass(11_000);
    await refusedTo([fleet.join()]);
    expect(fleet.identity.logins).toBe(2);
  });

  it.each(["failing", "throttled", "lost"] as const)("is none where the login failed otherwise: %s", async (fault) => {
    const fleet = fleetOf(1, { auth: withPassword("old") });
    fleet.identity.faults.push(fault);
    callOf(fleet.members[0], { timeoutMs: 500 });
    await pass(1000);
    expect(await outcomeOf(fleet.join().call(), 5000)).toMatch(/^access-/);
  });

  it("is tried where a clock that is ahead has noted it", async () => {
    const fleet = fleetOf(1, { auth: withPassword("old") });
    fleet.identity.refusesLogins = true;
    vi.setSystemTime(Date.now() + 3_600_000);
    await refusedTo(fleet.members);
    vi.setSystemTime(Date.now() - 3_600_000);
    await refusedTo([fleet.join()]);
    expect(fleet.identity.logins).toBe(2);
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

  it("that is back soon is used by processes that wait for their turn to log in without it", async () => {
    const fleet = fleetOf(2, { random: () => 0.9 });
    fleet.store.fault = "refuses";
    const calls = fleet.members.map((member) => handled(member.call()));
    await pass(5000);
    fleet.store.fault = undefined;
    await pass(3500);
    expect(fleet.identity.logins).toBe(1);
    expect(new Set(await Promise.all(calls)).size).toBe(1);
  });

  it("that may have stored a login has its refresh token to itself", async () => {
    const fleet = fleetOf(2);
    const [first, second] = fleet.members;
    const { write } = fleet.store;
    fleet.store.write = async (...request) => {
      await write.apply(fleet.store, request);
      throw new Error("the response was lost");
    };
    await callAll(fleet.members.slice(0, 1));
    expect(first?.events).toEqual([{ grant: "password", expiresInMs: 300_000, shared: false }]);
    fleet.store.write = write;
    fleet.store.fault = "refuses";
    await expire(fleet);
    await outcomeOf(first?.call(), 100);
    fleet.store.fault = undefined;
    await outcomeOf(second?.call(), 100);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "password", "refresh_token"]);
    expect(fleet.identity.reused).toEqual([]);
  });

  it("that did not take a login has that of another process, by which all go on", async () => {
    const fleet = fleetOf(2);
    const { store, identity, members } = fleet;
    const { write } = store;
    store.write = async () => false;
    await callAll(members.slice(0, 1));
    store.write = write;
    await callAll(members.slice(1));
    const shared = identity.newestRefreshToken;
    await expire(fleet);
    await callAll(members);
    expect(identity.requests.map(({ refreshToken }) => refreshToken)).toEqual([undefined, undefined, shared]);
  });

  it("that is wiped costs one login", async () => {
    const fleet = fleetOf(5);
    await callAll(fleet.members);
    fleet.store.wipe();
    await expire(fleet);
    expect(new Set(await callAll(fleet.members)).size).toBe(1);
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "password"]);
  });

  it.each([
    "",
    "rubbish",
    "null",
    "[]",
    '{"v":2}',
    '{"v":1,"accessToken":"a b","refreshToken":"r"}',
    '{"v":1,"spentBy":7}',
  ])("that is filled with rubbish costs one login: %s", async (rubbish) => {
    const fleet = fleetOf(5);
    await callAll(fleet.members);
    await fleet.store.fill(rubbish);
    await expire(fleet);
    expect(new Set(await callAll(fleet.members)).size).toBe(1);
    expect(new Set(await callAll([fleet.join()]))).toEqual(new Set(await callAll(fleet.members)));
    expect(fleet.identity.requests.map(({ grant }) => grant)).toEqual(["password", "password"]);
  });

  it.each([{ value: 7, version: "1" }, { value: "x" }, "text", 7])(
    "of the caller's own that returns %j counts as away",
    async (stored) => {
      const fleet = fleetOf(1);
      fleet.store.read = async () => stored as never;
      await callAll(fleet.members);
      expect(fleet.members[0]?.events).toEqual([{ grant: "password", expiresInMs: 300_000, shared: false }]);
    },
  );

  it("with a lock that never ends costs sharing only", async () => {
    const fleet = fleetOf(2);
    await callAll(fleet.members);
    await fleet.store.block(1e9);
    await expire(fleet);
    const calls = fleet.members.map((member) => handled(member.call({ timeoutMs: 60_000 })));
    await pass(32_000);
    expect(new Set(await Promise.all(calls)).size).toBe(2);
    await expire(fleet);
    // It is not waited for again.
    expect(new Set(await callAll(fleet.members, 0)).size).toBe(2);
  });

  it("holds no password, no secret of the client and no name", async () => {
    const fleet = fleetOf(1);
    await callAll(fleet.members);
    const stored = JSON.stringify([...fleet.store.values]);
    for (const secret of Object.values(secrets)) expect(stored).not.toContain(secret);
  });

  it("that loses its last writes costs the process that made them nothing", async () => {
    const fleet = fleetOf(1);
    const { store, identity, members } = fleet;
    for (let renewal = 1; renewal <= 2; renewal += 1) {
      await callAll(members);
      await expire(fleet);
    }
    await store.fill(store.written[0] ?? "");
    await callAll(members);
    expect([identity.logins, identity.refreshes, identity.reused]).toEqual([1, 2, []]);
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
      message: expect.stringContaining("Build clients with another refreshToken"),
    });
    expect(fleet.identity.requests).toHaveLength(1);
  });

  it.each([
    ["that has brought it, where it is wiped", (store: FaultyStore) => store.wipe(), 0],
    ["that has read it, where it is wiped", (store: FaultyStore) => store.wipe(), 1],
    ["that has brought it, where it is filled with rubbish", (store: FaultyStore) => store.fill("rubbish"), 0],
    ["that has read it, where it is filled with rubbish", (store: FaultyStore) => store.fill("rubbish"), 1],
  ])("outlives its store by the last refresh token of a process %s", async (_, spoil, index) => {
    const fleet = givenFleet(2);
    for (const member of fleet.members) await callAll([member]);
    await spoil(fleet.store);
    await expire(fleet);
    await callAll(fleet.members.slice(index, index + 1));
    expect(new Set(await callAll(fleet.members)).size).toBe(1);
    expect(fleet.identity.refreshes).toBe(2);
    expect(fleet.identity.reused).toEqual([]);
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

  it.each([
    ["the old token", -3],
    ["the mark of it", -2],
  ])(
    "goes on by the newest refresh token of this process, where a failover leaves the store with %s",
    async (_, at) => {
      const { store, identity, join: joinAs } = fleetOf(0);
      const own = { auth: { ...client, refreshToken: identity.begin() }, store };
      const member = joinAs(own);
      for (const join of [() => joinAs(own), () => member]) {
        await renewTwice(() => [join()]);
        await store.fill(store.written.at(at) ?? "");
        await callAll([join()]);
        await pass(300_000);
      }
      expect([identity.refreshes, identity.reused, identity.isEnded]).toEqual([6, [], false]);
    },
  );

  it("goes on by the newest refresh token of this process, where the store has evicted the session", async () => {
    const { store, identity, join: joinAs } = fleetOf(0);
    const own = { auth: { ...client, refreshToken: identity.begin() }, store };
    for (let renewal = 1; renewal <= 3; renewal += 1) {
      await callAll([joinAs(own)]);
      store.wipe();
    }
    expect([identity.refreshes, identity.reused, identity.isEnded]).toEqual([3, [], false]);
  });

  it("does not send a token again that this process has used in vain, where a failover leaves the store with it", async () => {
    const { store, identity, join: joinAs } = fleetOf(0);
    const own = { auth: { ...client, refreshToken: identity.begin() }, store };
    await callAll([joinAs(own)]);
    await pass(300_000);
    identity.faults.push("lost");
    const lost = handled(joinAs(own).call());
    await pass(30_000);
    await expect(lost).rejects.toThrow();
    await store.fill(store.written.at(-2) ?? "");
    await expect(outcomeOf(joinAs(own).call(), 1000)).rejects.toMatchObject({ code: "login_refused" });
    expect([identity.refreshes, identity.reused]).toEqual([2, []]);
    const ended = outcomeOf(joinAs(own).manager.endSession(), 100);
    expect([await ended, identity.isEnded]).toEqual([{ class: "unconfirmed" }, false]);
  });

  it("goes on by a refresh token that it has used before, where that was issued again", async () => {
    const identity = new FakeTokenEndpoint(granted("a"), granted("b", { refresh_token: "given" }), granted("c"));
    const member = fleetOf(0).join({ transport: identity, auth: session });
    for (const token of ["a", "b", "c"]) {
      expect(await outcomeOf(member.call(), 0)).toBe(token);
      await pass(300_000);
    }
    expect(identity.forms.map((form) => form.refresh_token)).toEqual(["given", "refresh-of-a", "given"]);
  });

  it.each([
    ["everyone gets the lock, and an earlier mark was refused", false, -1],
    ["everyone gets the lock, and an earlier mark was not confirmed", true, -1],
    ["a failover leaves the store with an earlier mark, which was not confirmed", true, 0],
  ])("does not send a token again that this process is sending, where %s", async (_, isStored, at) => {
    const { store, identity, join: joinAs } = fleetOf(0);
    const own = { auth: { ...client, refreshToken: identity.begin() }, store };
    const { write } = store;
    store.write = async (...request) => {
      store.write = write;
      if (!isStored) return false;
      await write.apply(store, request);
      throw new Error("the response was lost");
    };
    identity.latencyMs = () => 2000;
    callOf(joinAs(own));
    await pass(100);
    expect(identity.refreshes).toBe(1);
    await store.fill(store.written.at(at) ?? "");
    store.losesLocks = true;
    await outcomeOf(joinAs(own).call(), 5000).catch(() => {});
    expect([identity.refreshes, identity.reused]).toEqual([1, []]);
  });

  it("is told from one of another realm whose refresh token has the same text", async () => {
    const [one, other] = [fleetOf(0), fleetOf(0)];
    const [refreshToken, same] = [one.identity.begin(), other.identity.begin()];
    const { store } = one;
    await callAll([one.join({ auth: { ...client, refreshToken }, store })]);
    await callAll([other.join({ auth: { ...client, realm: "other", refreshToken: same }, store })]);
    expect([same, other.identity.requests[0]?.refreshToken]).toEqual([refreshToken, refreshToken]);
  });

  it.each([
    ["the old token", -3],
    ["the mark of it", -2],
  ])(
    "ends by its newest refresh token, and says that there may be a newer one, where a failover leaves the store with %s",
    async (_, at) => {
      const { store, identity, join: joinAs } = fleetOf(0);
      const own = { auth: { ...client, refreshToken: identity.begin() }, store };
      await renewTwice(() => [joinAs(own)]);
      await store.fill(store.written.at(at) ?? "");
      const ended = joinAs(own).manager.endSession();
      await pass(100);
      expect([await ended, identity.isEnded]).toEqual([{ class: "unconfirmed" }, true]);
    },
  );

  it.each<[string, (other: Member) => Promise<unknown>]>([
    ["logged out", ({ manager }) => manager.endSession()],
    ["found that it has ended", (other) => other.call()],
  ])(
    "is only ended by the newer refresh token of this process, where another one has %s after a failover",
    async (_, end) => {
      const fleet = givenFleet(1);
      const { store, identity, members } = fleet;
      await renewTwice(() => members);
      await store.fill(store.written[1] ?? "");
      await outcomeOf(end(fleet.join()), 100).catch(() => {});
      const { length } = identity.requests;
      await expect(outcomeOf(members[0]?.call(), 100)).rejects.toMatchObject({ code: "login_refused" });
      expect(identity.requests).toHaveLength(length);
      const ended = outcomeOf(members[0]?.manager.endSession(), 100);
      expect([await ended, identity.isEnded]).toEqual([{ class: "unconfirmed" }, true]);
    },
  );

  it("is ended by the newer refresh token of this process, where another one was refused an older one after a failover", async () => {
    const { store, join } = fleetOf(0);
    const identity = new FakeTokenEndpoint(granted("a"), granted("b"), refusal(400), responded(204, ""));
    const own = { transport: identity, auth: session };
    const member = join(own);
    await renewTwice(() => [member]);
    await store.fill(store.written[1] ?? "");
    await outcomeOf(join(own).call(), 100).catch(() => {});
    expect(await outcomeOf(member.manager.endSession(), 100)).toEqual({ class: "unconfirmed" });
    expect(identity.forms.map((form) => form.refresh_token).slice(2)).toEqual(["refresh-of-a", "refresh-of-b"]);
  });

  it("goes on by a refresh token that the store did not take", async () => {
    const fleet = givenFleet(1);
    const { write } = fleet.store;
    fleet.store.write = async (key, value, ...more) =>
      value.includes("spentBy") && write.call(fleet.store, key, value, ...more);
    await callAll(fleet.members);
    fleet.store.write = write;
    await pass(300_000);
    await callAll(fleet.members);
    expect([fleet.identity.refreshes, fleet.identity.reused]).toEqual([2, []]);
    await callAll([fleet.join()]);
    expect(fleet.identity.refreshes).toBe(2);
  });

  it("goes on by a refresh token that the store did not take, also where it is opened anew for each request", async () => {
    const { store, identity, join: joinAs } = fleetOf(0);
    const { write } = store;
    const own = { auth: { ...client, refreshToken: identity.begin() }, store };
    const join = () => joinAs(own);
    store.write = async (key, value, ...more) => value.includes("spentBy") && write.call(store, key, value, ...more);
    const [token] = await callAll([join()]);
    store.write = write;
    expect(await callAll([join()])).toEqual([token]);
    await pass(300_000);
    await callAll([join()]);
    expect([identity.refreshes, identity.reused]).toEqual([2, []]);
    const ended = join().manager.endSession();
    await pass(100);
    expect([await ended, identity.isEnded]).toEqual([undefined, true]);
  });

  it("does not send such a token again, but the one that came for it, where the store is as it was before", async () => {
    const { store, identity, join: joinAs } = fleetOf(0);
    const { write } = store;
    const own = { auth: { ...client, refreshToken: identity.begin() }, store };
    store.write = async (key, value, ...more) => value.includes("spentBy") && write.call(store, key, value, ...more);
    await callAll([joinAs(own)]);
    store.write = write;
    const [before = ""] = [...store.values.values()];
    await pass(300_000);
    await callAll([joinAs(own)]);
    await store.fill(before);
    await pass(300_000);
    await callAll([joinAs(own)]);
    expect([identity.refreshes, identity.reused]).toEqual([3, []]);
  });

  it("does not send such a token again that the store had taken all the same, and another process has used", async () => {
    const { store, identity, members } = givenFleet(2);
    const { write } = store;
    store.write = (key, value, ...more) => {
      store.fault = value.includes("spentBy") ? undefined : "loses-responses";
      return write.call(store, key, value, ...more);
    };
    await callAll(members.slice(0, 1));
    store.write = write;
    store.fault = undefined;
    for (const member of [members.slice(1), members.slice(0, 1)]) {
      await pass(301_000);
      await callAll(member);
    }
    expect([identity.refreshes, identity.reused]).toEqual([3, []]);
  });

  it("does not send a token again that was sent after a mark that came too late had been refused", async () => {
    const { store, identity, join: joinAs } = fleetOf(0);
    const own = { auth: { ...client, refreshToken: identity.begin() }, store };
    await callAll([joinAs(own)]);
    await pass(301_000);
    const { write } = store;
    store.write = async (key, value, ttlMs, version) => {
      store.write = write;
      // Somebody else was faster, and left the token as it was.
      const [before = ""] = [...store.values.values()];
      await write.call(store, key, before, ttlMs, version);
      return write.call(store, key, value, ttlMs, version);
    };
    identity.faults.push("lost");
    for (let request = 1; request <= 2; request++) {
      const call = handled(joinAs(own).call());
      await pass(30_000);
      await call.catch(() => {});
    }
    expect([identity.refreshes, identity.reused]).toEqual([2, []]);
  });

  it.each<[string, StoreFault | undefined, IdentityFault[]]>([
    ["whose mark was stored, but not confirmed", "loses-responses", []],
    ["whose mark was stored, and refused when the store's client sent it once more", "repeats", []],
    ["that was not sent, and whose mark could not be taken back", undefined, ["unsent"]],
  ])("goes on by a refresh token %s", async (_, fault, faults) => {
    const fleet = givenFleet(2);
    const { store, identity } = fleet;
    const { write } = store;
    store.write = (key, value, ...more) => {
      const isMark = value.includes("spentBy");
      store.fault = isMark ? fault : "refuses";
      return write.call(store, key, value, ...more);
    };
    identity.faults.push(...faults);
    const call = callOf(fleet.members[0]);
    await pass(1000);
    expect([identity.requests, [...store.values.values()].at(-1)]).toEqual([[], expect.stringContaining("spentBy")]);
    store.write = write;
    store.fault = undefined;
    // The lock could not be given back either.
    await pass(20_000);
    expect(await call).toBe((await callAll(fleet.members.slice(1)))[0]);
    expect([identity.refreshes, identity.reused]).toEqual([1, []]);
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
