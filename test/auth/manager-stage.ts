import { vi } from "vitest";
import { type TokenEvent, TokenManager, type TokenManagerOptions } from "../../src/auth/token-manager.js";
import { FakeTokenEndpoint, type Reply } from "./fake-token-endpoint.js";
import { Patience } from "./patience.js";

/** Made at run time, so that whatever shows one of them can be found out. */
export const secrets = {
  username: `user-${crypto.randomUUID()}`,
  password: `password-${crypto.randomUUID()}`,
  clientSecret: `secret-${crypto.randomUUID()}`,
};

export const auth = { authUrl: "https://id.example", realm: "payments", clientId: "gateway", ...secrets };

export interface Stage {
  readonly fake: FakeTokenEndpoint;
  readonly manager: TokenManager;
  readonly events: TokenEvent[];
  /** One call that needs a token. */
  call(patience?: ConstructorParameters<typeof Patience>[0]): Promise<string>;
  /** One call whose token `used` got 401. */
  renew(used: string, patience?: ConstructorParameters<typeof Patience>[0]): Promise<string>;
}

/** A manager before a token endpoint that responds by script. Jitter is off. */
export function stage(script: readonly Reply[], options: Partial<TokenManagerOptions> = {}): Stage {
  const fake = new FakeTokenEndpoint(...script);
  const events: TokenEvent[] = [];
  const manager = new TokenManager({
    auth,
    post: fake.post,
    timeoutMs: 10_000,
    random: () => 0,
    onToken: (event) => events.push(event),
    ...options,
  });
  const patiently = async (
    ask: (patience: Patience) => string | Promise<string>,
    options?: ConstructorParameters<typeof Patience>[0],
  ): Promise<string> => {
    const patience = new Patience(options);
    try {
      return await ask(patience);
    } finally {
      patience.finish();
    }
  };
  return {
    fake,
    manager,
    events,
    call: (options) => patiently((patience) => manager.current(patience), options),
    renew: (used, options) => patiently((patience) => manager.renew(used, patience), options),
  };
}

/** Fakes the clocks and the timers, and loads the grant's module first: loading takes time that no fake can pass. */
export async function fakeTime(): Promise<void> {
  await import("../../src/auth/openid-grant.js");
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "Date", "performance"], now: Date.UTC(2030, 0, 1) });
}

/** Lets everything happen that waits for no timer. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 6; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Lets time pass from timer to timer, and everything happen that each of them sets off. */
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

/** The promise's outcome, watched from now on, so that a rejection is never unhandled. */
export function watched<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}
