import { describe, expect, it } from "vitest";
import type { HttpClient, HttpClientOptions } from "../../src/http/http-client.js";
import type { RawRequest } from "../../src/http/raw-request.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { calls, json, payment, paymentRecord, recordOf, scriptedClient } from "./scripted-transport.js";

const body = JSON.stringify(payment);
const echo = {
  creationRequestBody: body,
  creationRequestSignatureBase64: `signature of /gw/payments ${body}`,
};

/** What is reported of a call to which the service responds with that. */
async function mismatchesOf(
  call: (client: HttpClient) => PromiseLike<unknown>,
  record: object,
  overrides: Partial<HttpClientOptions> = {},
) {
  const { client, events } = scriptedClient([json(record)], overrides);
  expect(await call(client)).toEqual(record);
  return events.mismatch.mock.calls.map(([event]) => event);
}

const differing = (field: string) => ({
  operation: "payments.create",
  field,
  expected: "what was sent",
  found: "another form of it",
});

describe("what a created record repeats of its signed request", () => {
  it("is not reported where it is what was sent", async () => {
    expect(await mismatchesOf(calls.signed, { ...paymentRecord(), ...echo })).toEqual([]);
  });

  it.each([
    ["the body", { creationRequestBody: body.replace(",", ", ") }, ["creationRequestBody"]],
    ["the signature", { creationRequestSignatureBase64: "c2ln" }, ["creationRequestSignatureBase64"]],
    [
      "both",
      { creationRequestBody: "{}", creationRequestSignatureBase64: "c2ln" },
      ["creationRequestBody", "creationRequestSignatureBase64"],
    ],
  ])("is reported, and nothing else, where it has another form of %s", async (_, other, fields) => {
    const found = await mismatchesOf(calls.signed, { ...paymentRecord(), ...echo, ...other });
    expect(found).toEqual(fields.map(differing));
  });

  it.each(["creationRequestBody", "creationRequestSignatureBase64"])(
    "is reported as missing, not as another form, where it has no %s",
    async (field) => {
      const { [field]: _, ...record }: Record<string, unknown> = { ...paymentRecord(), ...echo };
      expect(await mismatchesOf(calls.signed, record)).toEqual([
        { operation: "payments.create", field, expected: "a string", found: "undefined" },
      ]);
    },
  );

  it("is not looked at where the validation is off", async () => {
    expect(await mismatchesOf(calls.signed, paymentRecord(), { validation: "off" })).toEqual([]);
  });

  it("is nothing that an unsigned request could have: a field of that name is an unknown one", async () => {
    const record = { ...recordOf(paymentIntents.get.record), creationRequestBody: "other" };
    expect(await mismatchesOf(calls.read, record)).toMatchObject([
      { field: "creationRequestBody", expected: "a field of the description", found: "another string" },
    ]);
  });

  it("is not looked at in a response that nobody has described", async () => {
    const refund = { method: "POST", path: "/refunds", body: {}, signed: true } as RawRequest;
    expect(await mismatchesOf((client) => client.request(refund), { creationRequestBody: "other" })).toEqual([]);
  });
});
