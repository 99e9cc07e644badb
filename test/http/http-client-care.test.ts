import { expect, it } from "vitest";
import { CrossBorderError, InvalidArgumentError, OutcomeUnknownError } from "../../src/errors/errors.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { payments } from "../../src/resources/payments.js";
import { broken, calls, errorOf, json, payment, recordOf, scriptedClient } from "./scripted-transport.js";

it.each(["signed", "read"] as const)(
  "asks for no signature and no token when the signal of a %s call is aborted already",
  async (kind) => {
    const { client, transport, tokens, signing } = scriptedClient([json(recordOf(payments.list.record))]);
    expect(await errorOf(calls[kind](client, { signal: AbortSignal.abort() }))).toMatchObject({
      name: "AbortedError",
      effect: "none",
    });
    expect([transport.sent.length, tokens.current.mock.calls.length, signing.sign.mock.calls.length]).toEqual([
      0, 0, 0,
    ]);
  },
);

it("tells what an unforeseen failure may have done", async () => {
  const raw = () => {
    throw new RangeError("a bug with hunter22 in it");
  };
  const later = scriptedClient([broken], { tokens: { current: raw, renew: async () => "t" } });
  expect(await errorOf(calls.signed(later.client))).toMatchObject({ code: "unexpected_failure", effect: "none" });
  const transport = { send: () => Promise.reject(new RangeError("a bug")), close: async () => {} };
  const { client } = scriptedClient([json({})], { transport });
  const error = await errorOf(calls.signed(client));
  expect(error).toBeInstanceOf(OutcomeUnknownError);
  expect(error).toBeInstanceOf(CrossBorderError);
});

it("sends the body as it was when the call was made, however early it is changed", async () => {
  const { client, transport } = scriptedClient([json(recordOf(payments.list.record))]);
  const changing = { ...payment };
  const call = client.call(payments.create, [], { body: changing });
  changing.receiverAmount = "999999.00";
  await call;
  expect(JSON.parse(transport.sent[0]?.body ?? "")).toMatchObject({ receiverAmount: payment.receiverAmount });
});

it("does not count a renewed token among the retries", async () => {
  const { client, transport } = scriptedClient([
    { status: 401 },
    { status: 503 },
    json(recordOf(liquidityProviders.list.record)),
  ]);
  await calls.read(client, { maxRetries: 1 });
  expect(transport.sent).toHaveLength(3);
});

it.each([
  ["signal", { signal: null }],
  ["signal", { signal: { aborted: false } }],
])("refuses a wrong %s", async (name, options) => {
  const { client, transport } = scriptedClient([json({})]);
  const error = await errorOf(calls.read(client, options as never));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error.message).toContain(name);
  expect(transport.sent).toEqual([]);
});

it("refuses options that are no object", async () => {
  const { client } = scriptedClient([json({})]);
  expect(await errorOf(calls.read(client, 5 as never))).toBeInstanceOf(InvalidArgumentError);
});

it("sends a request that was signed before with its very bytes, through the gate, and nothing when the gate is closed", async () => {
  const { client, transport, signing } = scriptedClient([json(recordOf(payments.list.record))]);
  const signed = await client.sign(payments.create, { path: [], body: payment }, undefined);
  expect(transport.sent).toEqual([]);
  expect(signed.path).toBe("/gw/payments");
  await client.send(payments.create, signed, () => {}, undefined);
  expect(transport.sent[0]).toMatchObject({ path: signed.path, body: signed.body });
  expect(transport.sent[0]?.headers["x-service-signature-base64"]).toBe(signed.signature);
  expect(signing.sign).toHaveBeenCalledOnce();
  expect(transport.sent[0]?.beforeSend).toBeTypeOf("function");
});
