import { inspect } from "node:util";
import { BadRequestError, ConfigError, CrossBorderClient, InvalidArgumentError } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { harnesses, intentRequest } from "./harness.js";

describe.each(harnesses)("$name", ({ open }) => {
  it.each<[string, (client: CrossBorderClient) => unknown, RegExp]>([
    [
      "an empty id",
      (client) => client.paymentGateways.get(""),
      /paymentGatewayId must be the id of a record; found an empty string/,
    ],
    ["a dot segment", (client) => client.paymentGateways.get(".."), /paymentGatewayId .* found "\.\."/],
    [
      "an id that is not a string",
      (client) => client.paymentIntents.get(7 as never),
      /paymentIntentId must be a string; found a number/,
    ],
    ["a lone surrogate", (client) => client.paymentGateways.get("\ud800"), /surrogate/],
    [
      "an unknown field",
      (client) => client.liquidityProviders.create({ fristName: "A" } as object),
      /has no field "fristName" \(it has firstName, lastName, email\)/,
    ],
    [
      "an amount with a separator",
      (client) => client.paymentIntents.create({ ...intentRequest, receiverAmount: "15,000" }),
      /receiverAmount to be a decimal numeral/,
    ],
    [
      "an amount that is a number",
      (client) => client.paymentIntents.create({ ...intentRequest, receiverAmount: 15000 as never }),
      /receiverAmount .* found a number/,
    ],
    [
      "a missing field",
      (client) => client.paymentIntents.create({ senderGatewayId: "a" } as never),
      /needs senderCurrency to be a string; found undefined/,
    ],
    [
      "no body",
      (client) => client.liquidityProviders.create(null as never),
      /must be an object with fields; found null/,
    ],
    ["a wrong filter", (client) => client.payments.list({ filter: { other: { _size: "1" } } }), /filter must be/],
    [
      "a filter that is there twice",
      (client) => client.payments.list({ filter: { memo: "a", other: { memo: "b" } } }),
      /filter has "memo" twice/,
    ],
    [
      "a filter on a deposit's id",
      (client) => client.liquidityProviders.deposits("1").list({ filter: { id: "1" } as object }),
      /has no field "id"/,
    ],
    ["a page size of 0", (client) => client.payments.list({ size: 0 }), /size must be a whole number above 0/],
    [
      "a sort term without direction",
      (client) => client.payments.list({ sort: "createdAt" as never }),
      /sort must be a term/,
    ],
    ["an unknown option", (client) => client.payments.list({}, { timeout: 5 } as object), /no option "timeout"/],
    [
      "a query among the options of a list",
      (client) => client.payments.list({}, { query: { memo: "rent" } } as object),
      /^payments\.list: there is no option "query"; there are signal,/,
    ],
    [
      "a header of the client's own",
      (client) => client.payments.list({}, { headers: { Authorization: "x" } }),
      /authorization is set/,
    ],
    [
      "a header with a line break",
      (client) => client.payments.list({}, { headers: { "x-a": "b\r\nc: d" } }),
      /one line/,
    ],
  ])("refuses %s before any I/O", async (_, call, message) => {
    await using harness = await open();
    const error = await (async () => call(harness.client()))().then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ effect: "none", message: expect.stringMatching(message) });
    expect(harness.sandbox.requests).toEqual([]);
  });

  it("reads code and message from the refusal of a single read, error and message from all others", async () => {
    await using harness = await open();
    const client = harness.client();
    const reading = await client.paymentGateways.get("unknown").catch((thrown: unknown) => thrown);
    expect(reading).toBeInstanceOf(BadRequestError);
    expect((reading as BadRequestError).serviceCode).toBeTruthy();
    expect((reading as BadRequestError).serviceMessage).toBeTruthy();
    const creating = await client.paymentIntents.create(intentRequest).catch((thrown: unknown) => thrown);
    expect(creating).toBeInstanceOf(BadRequestError);
    expect((creating as BadRequestError).serviceCode).toBeTruthy();
  });

  it("keeps account numbers that the service repeats out of its errors", async () => {
    await using harness = await open({
      onRequest: ({ operation, body }) =>
        operation === "paymentIntents.create"
          ? Response.json({ error: "invalid", message: `can't take ${body}` }, { status: 400 })
          : undefined,
    });
    const request = { ...intentRequest, senderAccount: "DE89370400440532013000", receiverAccount: "KE-SECRET-77" };
    const error = await harness
      .client()
      .paymentIntents.create(request)
      .catch((thrown: unknown) => thrown);
    const shown = [inspect(error, { depth: 9 }), JSON.stringify(error), String((error as Error).stack)].join();
    expect(shown).toContain("serviceCode");
    expect((error as BadRequestError).serviceMessage).toContain("can't take");
    expect(shown).not.toContain("DE89370400440532013000");
    expect(shown).not.toContain("KE-SECRET-77");
  });

  it("shows no secret when the client itself is printed", async () => {
    await using harness = await open();
    const client = harness.client();
    await client.liquidityProviders.list();
    const shown = inspect(client, { depth: 9, showHidden: true }) + JSON.stringify(client);
    if (!("password" in harness.options.auth)) throw new Error("the harness has no password");
    expect(shown).not.toContain(harness.options.auth.password);
    expect(shown).not.toMatch(/Bearer|[\w-]{32}/);
  });
});

const auth = { accessToken: () => "token" };

it.each<[string, object, RegExp]>([
  ["no options", {}, /auth/],
  ["an unknown option", { baseUrl: "https://a.test", auth, retries: 3 }, /no option "retries"/],
  ["plain http", { baseUrl: "http://a.test", auth }, /https/],
  ["a base URL with a query", { baseUrl: "https://a.test/?x=1", auth }, /baseUrl/],
  ["a base URL with credentials", { baseUrl: "https://user:hunter22@a.test/", auth }, /baseUrl/],
  ["a deadline of nothing", { baseUrl: "https://a.test", auth, timeoutMs: 0 }, /timeoutMs/],
  ["half a retry", { baseUrl: "https://a.test", auth, maxRetries: 0.5 }, /maxRetries/],
  ["fetch and dispatcher", { baseUrl: "https://a.test", auth, fetch, dispatcher: { dispatch: () => true } }, /exclude/],
  [
    "an operation that there is not",
    { baseUrl: "https://a.test", auth, signedOperations: ["x.y"] },
    /signedOperations/,
  ],
  ["a key that is none", { baseUrl: "https://a.test", auth, signingKey: "hunter22" }, /signingKey/i],
])("refuses to build a client with %s", (_, options, message) => {
  let thrown: unknown;
  try {
    new CrossBorderClient(options as never);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(ConfigError);
  expect(thrown).toMatchObject({ message: expect.stringMatching(message) });
  expect(inspect(thrown)).not.toContain("hunter22");
});
