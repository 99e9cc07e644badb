import { afterEach, beforeEach, expect, vi } from "vitest";
import type { FieldKind, FieldTable } from "../../src/api/fields.js";
import type { RequestOptions } from "../../src/api/request-options.js";
import type { Ended } from "../../src/core/deadline.js";
import { ConfigError, SigningError, TokenError } from "../../src/core/errors.js";
import { createReporter } from "../../src/events/reporter.js";
import { HttpClient, type HttpClientOptions } from "../../src/http/http-client.js";
import { Schemas } from "../../src/http/read.js";
import { RetryBudget } from "../../src/http/report.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { type PaymentIntentRequest, paymentIntents } from "../../src/resources/payment-intents.js";
import { type PaymentRequest, payments } from "../../src/resources/payments.js";
import { type Transport, WireFailure, type WireRequest, type WireResponse } from "../../src/wire/transport.js";
import { signingKeysOf } from "../support/key-pairs.js";

export { errorOf } from "../support/error-of.js";

/** How one exchange goes: a response, a failure, or nothing until the call ends (`hang`; `queue` where it was not sent). */
export type Step = Partial<WireResponse> | WireFailure | Ended | "hang" | "queue";

/** A transport that responds from a list; its last step is repeated for all further requests. */
function scriptedTransport(steps: readonly Step[]) {
  const sent: (Omit<WireRequest, "body"> & { readonly body: string | undefined })[] = [];
  const send: Transport["send"] = async (request, deadline) => {
    const step = steps[Math.min(sent.length, steps.length - 1)];
    deadline.assertMaySend();
    sent.push({ ...request, body: request.body === undefined ? undefined : Buffer.from(request.body).toString() });
    if (step === undefined) throw new Error("the script has no steps");
    if (step instanceof Error) throw step;
    if (typeof step === "string") {
      return new Promise((_, reject) => void deadline.onEnd(() => reject(deadline.failure(step === "hang"))));
    }
    return { status: 200, headers: {}, text: "", ...step };
  };
  return { sent, send, close: async () => {} };
}

/** A client over a script, with a token source and a signer that are spied on, and no waits before a retry. */
export function scriptedClient(steps: readonly Step[], overrides: Partial<HttpClientOptions> = {}) {
  const transport = scriptedTransport(steps);
  const tokens = {
    current: vi.fn<HttpClientOptions["tokens"]["current"]>(() => "token-1"),
    refused: vi.fn<(token: string) => void>(),
    renew: vi.fn<HttpClientOptions["tokens"]["renew"]>(async (used) => `${used}-renewed`),
  };
  const signer = {
    sign: vi.fn(async (path: string, body: Uint8Array) => `signature of ${path} ${Buffer.from(body).toString()}`),
    describe: vi.fn(async (path: string) => ({ path, bodySha256: "body", publicKeySha256: "key" })),
  };
  const events = {
    mismatch: vi.fn(),
    retry: vi.fn(),
    response: vi.fn(),
    success: vi.fn(),
    failure: vi.fn(),
    token: vi.fn(),
  };
  const client = new HttpClient({
    origin: "https://service.test",
    basePath: "/gw",
    transport,
    tokens,
    signer,
    signedOperations: new Set(),
    signQuery: false,
    timeoutMs: 30_000,
    maxRetries: 2,
    maxRecordBytes: 2000,
    maxListBytes: 5000,
    validation: "report",
    headers: {},
    reporter: createReporter([events]),
    budget: new RetryBudget(),
    // No waits: it takes away both halves of each.
    random: () => -1,
    ...overrides,
  });
  return { client, transport, tokens, signer, events };
}

const refused = () => Promise.reject(new TokenError("no token", { code: "login_refused", status: 401 }));
const noSignature = () => Promise.reject(new SigningError("the signer failed"));
const noLibrary = () => Promise.reject(new ConfigError("what reads records can't be loaded"));

/** Parts of a client that fail. */
export const failing = {
  tokens: { current: refused, renew: refused },
  signer: { sign: noSignature, describe: noSignature },
  schemas: Object.assign(new Schemas(), { load: noLibrary }),
};

/** For each test of a file; none may leave a timer behind. */
export function useFakeTime(): void {
  beforeEach(async () => {
    // The time of these tests is not that of a disk.
    await new Schemas().load();
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
  });
  afterEach(() => {
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });
}

export function json(
  value: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
): Partial<WireResponse> {
  return { status, headers, text: JSON.stringify(value) };
}

export const unsent = new WireFailure({ sent: false, reason: "ECONNREFUSED" });
export const broken = new WireFailure({ sent: true, reason: "ECONNRESET" });

/** A record with every field as it is described. */
export function recordOf(fields: FieldTable): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, kind]) => [name, samples[kind]]));
}

const samples: Readonly<Record<FieldKind, unknown>> = {
  text: "text",
  timestamp: "2026-01-01T00:00:00.000001Z",
  status: "pending",
  publicKey: signingKeysOf("gateway").publicKeyBase64,
  paymentStatus: "pending",
  secret: "secret-1",
  account: "DE00",
  decimal: "12.50",
  integer: 7,
  any: null,
};

/** A payment's body, with account numbers that may appear in no message. */
export const payment: PaymentRequest = {
  senderGatewayId: "alpha",
  senderAmount: "12.50",
  senderCurrency: "EUR",
  senderAccount: "DE11222233334444",
  senderName: "Erika Sender",
  receiverGatewayId: "beta",
  receiverAmount: "10.00",
  receiverCurrency: "USD",
  receiverAccount: "US99888877776666",
  receiverName: "Rob Receiver",
  receivingGatewayFee: "0.10",
  memo: "rent",
  senderGatewayTransactionId: "tx-1",
};

/** An intent's body. */
export const intent: PaymentIntentRequest = {
  senderGatewayId: "alpha",
  senderCurrency: "EUR",
  senderAccount: "DE11222233334444",
  receiverGatewayId: "beta",
  receiverAccount: "US99888877776666",
  receiverCurrency: "USD",
  receiverAmount: "10.00",
  memo: "rent",
};

/** The service's record of `payment`. */
export function paymentRecord(): Record<string, unknown> {
  return { ...recordOf(payments.list.record), ...payment, id: "payment-1" };
}

/** An error as the service words it. */
export function ownError(status: number, headers?: Readonly<Record<string, string>>): Partial<WireResponse> {
  return json({ error: "E1", message: "It can't be done" }, status, headers);
}

/** One call of each kind that the decision table tells apart. */
export const calls = {
  read: (client: HttpClient, options?: RequestOptions) => client.call(paymentIntents.get, ["pi-1"], {}, options),
  update: (client: HttpClient, options?: RequestOptions) =>
    client.call(liquidityProviders.update, ["lp-1"], { body: { firstName: "Ada" } }, options),
  create: (client: HttpClient, options?: RequestOptions) =>
    client.call(liquidityProviders.create, [], { body: { firstName: "Ada" } }, options),
  repeatable: (client: HttpClient, options?: RequestOptions) =>
    client.call(paymentIntents.create, [], { body: intent }, options),
  signed: (client: HttpClient, options?: RequestOptions) =>
    client.call(payments.create, [], { body: payment }, options),
};
