import { type ClientEvents, type ClientOptions, CrossBorderClient, CrossBorderError } from "cross-border-payments";
import { startSandbox } from "cross-border-payments/sandbox";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { payment as paymentBody } from "../faults/calls.js";
import { errorOf } from "../support/error-of.js";
import { signingKeysOf } from "../support/key-pairs.js";
import { hostileThrows } from "./hostile-throws.js";
import { shownTexts } from "./shown-texts.js";

const token = "t0ken.of-the/caller";
const accounts = { senderAccount: "DE89370400440532013000", receiverAccount: "KE-SECRET-77-88" };
const names = { senderName: "Zoë Müller-Lüdenscheidt", receiverName: "Baraka Receiver" };
const payment = { ...paymentBody, ...accounts, ...names };
/** What the caller's code may see of a call. */
const secret = Object.values({ ...accounts, ...names }).join(" ");
const forbidden = /DE89|KE-SECRET|Zoë|Baraka/;

let server: Awaited<ReturnType<typeof startSandbox>>;
beforeAll(async () => {
  server = await startSandbox();
});
afterAll(() => server.close());

const throwing = (thrown: unknown) => () => {
  throw thrown;
};
const rejecting = (thrown: unknown) => () => Promise.reject(thrown);

async function failedPayment(options: Partial<ClientOptions>): Promise<CrossBorderError> {
  const { privateKey } = signingKeysOf("gateway");
  const { baseUrl } = server.clientOptions;
  await using client = new CrossBorderClient({
    baseUrl,
    auth: { accessToken: () => token },
    signingKey: privateKey,
    maxRetries: 0,
    ...options,
  });
  const error = await errorOf(client.payments.create(payment));
  expect(error).toBeInstanceOf(CrossBorderError);
  return error;
}

const hostile = hostileThrows(secret);

const unknown = { code: "outcome_unknown", effect: "possible", attempts: 1 };
const nothing = { effect: "none", operation: "payments.create", attempts: 0 };

const both = [throwing, rejecting];

interface Place {
  readonly as: string;
  readonly ways: readonly (typeof throwing | typeof rejecting)[];
  readonly options: (fail: () => never, thrown: unknown) => Partial<ClientOptions>;
  /** Of the error of a payment. */
  readonly expected: object;
}

const { publicKey } = signingKeysOf("gateway");
const places: Place[] = [
  {
    ...{ as: "a token source", ways: both, expected: { ...nothing, code: "token_source_failed" } },
    options: (accessToken) => ({ auth: { accessToken } }),
  },
  {
    ...{ as: "a signer", ways: both, expected: { ...nothing, code: "signing_failed" } },
    options: (sign) => ({ signingKey: { publicKey, sign } }),
  },
  { as: "a fetch", ways: both, options: (fetch) => ({ fetch }), expected: unknown },
  {
    ...{ as: "a dispatcher that throws", ways: [throwing], expected: { name: "ConfigError", effect: "possible" } },
    options: (dispatch) => ({ dispatcher: { dispatch } }),
  },
  {
    ...{ as: "a dispatcher that gives it to the handler", ways: [throwing], expected: unknown },
    options: (_, thrown) => {
      const dispatch = (_: never, handler: Handler) => {
        handler.onRequestStart({ abort: () => {} }, {});
        handler.onResponseError({ abort: () => {} }, thrown);
        return true;
      };
      return { dispatcher: { dispatch } as never };
    },
  },
];

// By name: the runner would look at the values.
describe.each(Object.keys(hostile))("code of the caller's that throws %s", (what) => {
  const thrown = hostile[what];

  it.each(places)("as $as", async ({ ways, options, expected }) => {
    for (const failing of ways) {
      const error = await failedPayment(options(failing(thrown) as () => never, thrown));
      expect(error).toMatchObject(expected);
      expect(shownTexts(error)).not.toMatch(forbidden);
    }
  });

  it("as a hook changes no call, whether it throws or rejects", async () => {
    for (const hook of [throwing(thrown), rejecting(thrown), () => thrown] as (() => void)[]) {
      const on: ClientEvents = { response: hook, failure: hook, retry: hook, mismatch: hook, token: hook };
      await using client = new CrossBorderClient({ ...server.clientOptions, on });
      expect(await client.payments.list()).toMatchObject({ items: [] });
      await expect(client.paymentIntents.get("unknown")).rejects.toMatchObject({ code: "http_400" });
    }
  });
});

interface Handler {
  onRequestStart(controller: object, context: object): void;
  onResponseError(controller: object, error: unknown): void;
}

const invalid = (message: string) => Object.assign(new Error(message), { code: "UND_ERR_INVALID_ARG" });
const headers = new Headers();
const like = { status: 200, ok: true, headers, body: null };

/** An option that can't work, and what it does. */
describe.each<[string, "fetch" | "dispatcher", unknown]>([
  ["gives nothing", "fetch", async () => undefined],
  ["gives the Response of node-fetch", "fetch", async () => ({ ...like, body: { pipe: () => {} } })],
  ["of undici 6 refuses the handler", "dispatcher", () => throwing(invalid("invalid onError method"))()],
  ["of undici 6 calls old methods", "dispatcher", (_: never, handler: OldHandler) => handler.onConnect()],
])("an option that %s", (_, option, misused) => {
  it("is named by a ConfigError, at once, and a read isn't retried", async () => {
    const given = option === "fetch" ? { fetch: misused } : { dispatcher: { dispatch: misused } };
    const error = await failedPayment(given as Partial<ClientOptions>);
    expect(error).toMatchObject({ name: "ConfigError", code: "invalid_config", effect: "possible", attempts: 1 });
    expect(error.message).toContain(`the ${option} option must`);
    const auth = { accessToken: () => token };
    await using client = new CrossBorderClient({ baseUrl: server.clientOptions.baseUrl, auth, ...(given as object) });
    const read = await errorOf(client.paymentIntents.get("1"));
    expect(read).toMatchObject({ name: "ConfigError", effect: "none", attempts: 1 });
  });
});

interface OldHandler {
  onConnect(): boolean;
}

it("shows no header of the caller's own that a proxy repeats", async () => {
  const echo = async () =>
    Response.json(
      { error: "bad api-key-77112233", message: "m" },
      { status: 400, headers: { "x-request-id": "api-key-77112233" } },
    );
  const { baseUrl } = server.clientOptions;
  await using client = new CrossBorderClient({ baseUrl, auth: { accessToken: () => token }, fetch: echo });
  const options = { headers: { "x-api-key": "api-key-77112233", "x-trace": "t-1" } };
  const error = await errorOf(client.paymentIntents.get("1", options));
  expect(error).toMatchObject({ code: "http_400" });
  expect(shownTexts(error)).not.toContain("77112233");
  expect(error).not.toHaveProperty("requestId");
});
