import { TokenManager, type TokenManagerOptions } from "../../src/auth/token-manager.js";
import type { StoredToken, TokenStore } from "../../src/auth/token-store.js";
import type { TokenEvent } from "../../src/events/events.js";
import { MemoryTokenStore } from "../../src/tokens/memory-token-store.js";
import type { Transport } from "../../src/wire/transport.js";
import { auth, type CallOptions, client, within } from "./manager-fixture.js";
import { RotatingIdentity } from "./rotating-identity.js";

/**
 * How a store fails: at once, never answering, or after it has done what it was asked for; or its client asks twice, as ioredis does
 * where a connection breaks before the answer, and tells of the second.
 */
export type StoreFault = "refuses" | "hangs" | "loses-responses" | "repeats";

/** A store in memory that can be away, slow, wiped, or filled with rubbish. */
export class FaultyStore implements TokenStore {
  fault: StoreFault | undefined;
  latencyMs: () => number = () => 0;
  /** Whether everyone gets the lock, as after a failover to a replica that has not heard of it. */
  losesLocks = false;
  /** What was asked for, in order. */
  readonly log: string[] = [];
  /** Every value that ever lay in it. */
  readonly written: string[] = [];
  /** What lies in it, by key. */
  readonly values = new Map<string, string>();
  #store = new MemoryTokenStore();

  wipe(): void {
    this.#store = new MemoryTokenStore();
    this.values.clear();
  }

  async fill(rubbish: string): Promise<void> {
    for (const key of this.values.keys()) {
      const stored = await this.#store.read(key);
      await this.#store.write(key, rubbish, 1e9, stored?.version);
    }
  }

  read(key: string): Promise<StoredToken | undefined> {
    return this.#ask("read", (store) => store.read(key));
  }

  lock(key: string, owner: string, ms: number): Promise<boolean> {
    return this.#ask("lock", async (store) => (await store.lock(key, owner, ms)) || this.losesLocks);
  }

  unlock(key: string, owner: string): Promise<void> {
    return this.#ask("unlock", (store) => store.unlock(key, owner));
  }

  write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean> {
    return this.#ask(value.includes("spentBy") ? "mark" : "write", async (store) => {
      const isStored = await store.write(key, value, ttlMs, version);
      if (!isStored) return false;
      this.values.set(key, value);
      this.written.push(value);
      return true;
    });
  }

  async #ask<T>(name: string, work: (store: TokenStore) => Promise<T>): Promise<T> {
    this.log.push(name);
    const { fault } = this;
    await passMs(this.latencyMs() / 2);
    if (fault === "refuses") throw Object.assign(new Error("away"), { code: "ECONNREFUSED" });
    if (fault === "hangs") return new Promise(() => {});
    if (fault === "repeats") await work(this.#store);
    const result = await work(this.#store);
    await passMs(this.latencyMs() / 2);
    if (fault === "loses-responses") throw Object.assign(new Error("away"), { code: "ECONNRESET" });
    return result;
  }
}

/** A process that can be killed or stopped: whatever it does to the store or the identity server waits until it runs again. */
class ProcessGate {
  #stopped: Promise<void> | undefined;
  #resume = (): void => {};

  stop(): void {
    this.#stopped ??= new Promise((resolve) => {
      this.#resume = resolve;
    });
  }

  resume(): void {
    this.#stopped = undefined;
    this.#resume();
  }

  async pass<T>(work: () => Promise<T>): Promise<T> {
    await this.#stopped;
    try {
      return await work();
    } finally {
      await this.#stopped;
    }
  }
}

export type Member = ReturnType<typeof memberOf>;
export type Fleet = ReturnType<typeof fleetOf>;

/** A fleet each of whose processes was given the refresh token of one session. */
export function givenFleet(size: number) {
  const fleet = fleetOf(0);
  const given = fleet.identity.begin();
  const join = () => fleet.join({ auth: { ...client, refreshToken: given } });
  return { ...fleet, join, given, members: Array.from({ length: size }, join) };
}

/** Processes with one store and one identity server, in fake time. Jitter is off unless `random` is given. */
export function fleetOf(size: number, options: Partial<TokenManagerOptions> = {}) {
  const store = new FaultyStore();
  const identity = new RotatingIdentity();
  /** One more process. */
  const join = (more?: Partial<TokenManagerOptions>) => memberOf(store, identity, { ...options, ...more });
  return { store, identity, join, members: Array.from({ length: size }, () => join()) };
}

function memberOf(store: TokenStore, identity: Transport, options: Partial<TokenManagerOptions>) {
  const gate = new ProcessGate();
  const events: TokenEvent[] = [];
  const manager = new TokenManager({
    auth,
    transport: {
      send: (request, deadline) => gate.pass(() => identity.send(request, deadline)),
      close: async () => {},
    },
    store: {
      read: (key) => gate.pass(() => store.read(key)),
      lock: (key, owner, ms) => gate.pass(() => store.lock(key, owner, ms)),
      unlock: (key, owner) => gate.pass(() => store.unlock(key, owner)),
      write: (key, value, ttlMs, version) => gate.pass(() => store.write(key, value, ttlMs, version)),
    },
    random: () => 0,
    onToken: (event) => events.push(event),
    ...options,
  });
  return {
    manager,
    events,
    call: (options?: CallOptions) => within(options, (deadline, maxRetries) => manager.current(deadline, maxRetries)),
    /** A call whose token `used` got 401. */
    renew: (used: string) => within({}, (deadline, maxRetries) => manager.renew(used, deadline, maxRetries)),
    /** As SIGSTOP does, or for good, as SIGKILL does. */
    stop: () => gate.stop(),
    resume: () => gate.resume(),
  };
}

async function passMs(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}
