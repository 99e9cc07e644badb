import { afterEach, beforeEach, expect, vi } from "vitest";
import { TokenManager, type TokenManagerOptions } from "../../src/auth/token-manager.js";
import { Deadline } from "../../src/core/deadline.js";
import { TokenError } from "../../src/core/errors.js";
import { loadOpenIdClient } from "../../src/core/libraries.js";
import type { TokenEvent } from "../../src/events/events.js";
import { FakeTokenEndpoint, type Scripted } from "./fake-token-endpoint.js";

/** Made at run time, so that a test can tell whether one of them is shown. */
export const secrets = {
  username: `user-${crypto.randomUUID()}`,
  password: `password-${crypto.randomUUID()}`,
  clientSecret: `secret-${crypto.randomUUID()}`,
};

export const auth = { authUrl: "https://id.example", realm: "payments", clientId: "gateway", ...secrets };

const { username: _username, password: _password, ...clientAuth } = auth;

/** With nothing to log in with. */
export const client = clientAuth;

/** A session that was given by its refresh token. */
export const session = { ...client, refreshToken: "given" };

/** What a call allows. Default: 30 s and 2 retries. */
export interface CallOptions {
  readonly timeoutMs?: number;
  readonly maxRetries?: number;
  readonly signal?: AbortSignal;
}

/** A manager before a token endpoint that replies by script. Jitter is off. */
export function managerFixture(script: readonly Scripted[], options: Partial<TokenManagerOptions> = {}) {
  const fake = new FakeTokenEndpoint(...script);
  const events: TokenEvent[] = [];
  const manager = new TokenManager({
    auth,
    transport: fake,
    random: () => 0,
    onToken: (event) => events.push(event),
    ...options,
  });
  return {
    fake,
    manager,
    events,
    /** One call that needs a token. */
    call: (options?: CallOptions) => within(options, (deadline, maxRetries) => manager.current(deadline, maxRetries)),
    /** One call whose token `used` got 401. */
    renew: (used: string, options?: CallOptions) =>
      within(options, (deadline, maxRetries) => manager.renew(used, deadline, maxRetries)),
  };
}

/** What `ask` gives before the deadline of a call that allows this much. */
export async function within<T>(
  { timeoutMs = 30_000, maxRetries = 2, signal }: CallOptions = {},
  ask: (deadline: Deadline, maxRetries: number) => T | Promise<T>,
): Promise<T> {
  const deadline = new Deadline({ timeoutMs, signal });
  try {
    return await ask(deadline, maxRetries);
  } finally {
    deadline.finish();
  }
}

/** Fakes the clocks and the timers, and first loads openid-client: loading takes time that no fake can pass. */
export async function fakeTime(): Promise<void> {
  await loadOpenIdClient();
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"], now: Date.UTC(2030, 0, 1) });
}

/** Fakes the time in every test of the file. */
export function withFakeTime(): void {
  beforeEach(fakeTime);
  afterEach(() => void vi.useRealTimers());
}

/** The same, and fails each test that leaves a rejection unhandled. */
export function withFakeTimeAndNothingUnhandled(): void {
  const unhandled: unknown[] = [];
  const note = (reason: unknown) => unhandled.push(reason);
  beforeEach(async () => {
    process.on("unhandledRejection", note);
    await fakeTime();
  });
  afterEach(async () => {
    await settle();
    vi.useRealTimers();
    process.off("unhandledRejection", note);
    expect(unhandled.splice(0)).toEqual([]);
  });
}

/** The error of a token that could not be had, which has to come at once. */
export async function failure(asked: string | Promise<unknown>): Promise<TokenError> {
  const error: unknown = await handled(Promise.resolve(asked)).then(
    (value) => new Error(`no failure but ${String(value)}`),
    (reason: unknown) => reason,
  );
  if (!(error instanceof TokenError)) throw error;
  expect(error.effect).toBe("none");
  return error;
}

/** What a work comes to within this time. */
export async function outcomeOf<T>(work: Promise<T> | undefined, ms: number): Promise<T> {
  if (work === undefined) throw new Error("nobody is there to do it");
  handled(work);
  await pass(ms);
  return work;
}

/** Lets everything happen that waits for no timer, including hashes, which Node makes in threads. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) {
    await new Promise((resolve) => setImmediate(resolve));
    await crypto.subtle.digest("SHA-256", new Uint8Array());
  }
}

/** Lets time pass from timer to timer, and everything happen that each of them starts. */
export async function pass(ms: number): Promise<void> {
  let over = false;
  setTimeout(() => {
    over = true;
  }, ms);
  while (!over) {
    await settle();
    vi.advanceTimersToNextTimer();
  }
  await settle();
}

/** The promise itself, handled from now on, so that its rejection is never unhandled. */
export function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
