import { describe, expect, it } from "vitest";
import { isAnother, matchPayment } from "../../../src/flows/core/match.js";

const base64 = (byte: number) => Buffer.alloc(256, byte).toString("base64");
const body = {
  senderGatewayId: "gw-1",
  senderAccount: "DE0001",
  senderAmount: "10.50",
  memo: "m",
  senderGatewayTransactionId: "TX-1",
};
const text = (more: object = {}) => JSON.stringify({ ...body, ...more });
const signed = { senderGatewayTransactionId: "TX-1", path: "/payments", body: text(), signature: base64(251) };
const named = { senderGatewayId: "gw-1", senderGatewayTransactionId: "TX-1" };
const otherText = text({ senderGatewayTransactionId: "TX-2" });

describe("matchPayment", () => {
  it.each([
    ["its signature", "found", { creationRequestSignatureBase64: base64(251) }],
    ["its signature, in lines", "found", { creationRequestSignatureBase64: base64(251).replace(/.{76}/g, "$&\n") }],
    [
      "its signature, Base64url",
      "found",
      { creationRequestSignatureBase64: Buffer.alloc(256, 251).toString("base64url") },
    ],
    [
      "its signature, another body",
      "found",
      { creationRequestSignatureBase64: base64(251), creationRequestBody: otherText },
    ],
    ["its body", "found", { creationRequestBody: text() }],
    [
      "its body, another signature",
      "found",
      { creationRequestBody: text(), creationRequestSignatureBase64: base64(7) },
    ],
    [
      "its body, in another order",
      "found",
      { creationRequestBody: JSON.stringify(Object.fromEntries(Object.entries(body).reverse())) },
    ],
    ["its body, spaced", "found", { creationRequestBody: JSON.stringify(body, undefined, 2) }],
    ["an equal amount", "found", { creationRequestBody: text({ senderAmount: "10.5" }) }],
    ["another amount", "match", { creationRequestBody: text({ senderAmount: "10.51" }) }],
    ["an amount as a number", "found", { creationRequestBody: text({ senderAmount: 10.5 }) }],
    ["a trimmed text", "found", { creationRequestBody: text({ memo: "m " }) }],
    ["an account in groups", "found", { creationRequestBody: text({ senderAccount: "DE 00 01" }) }],
    ["another memo", "match", { creationRequestBody: text({ memo: "10.50" }) }],
    ["a further field", "match", { creationRequestBody: text({ extras: null }) }],
    ["its transaction id", "match", named],
    ["its transaction id, without a gateway", "match", { senderGatewayTransactionId: "TX-1" }],
    ["its transaction id, in another case", "match", { ...named, senderGatewayTransactionId: " tx-1 " }],
    ["its transaction id, with an unusable body", "match", { ...named, creationRequestBody: "{" }],
    ["its transaction id, of another gateway", undefined, { ...named, senderGatewayId: "gw-2" }],
    [
      "another transaction id",
      undefined,
      { ...named, senderGatewayTransactionId: "TX-2", creationRequestBody: otherText },
    ],
    ["another signature", undefined, { creationRequestSignatureBase64: base64(7) }],
    ["an unusable signature", undefined, { creationRequestSignatureBase64: "?" }],
    ["nothing", undefined, {}],
    [
      "fields of other types",
      undefined,
      { creationRequestSignatureBase64: 1, creationRequestBody: [], senderGatewayTransactionId: null },
    ],
  ] as const)("%s: %s", (_title, expected, record) => {
    expect(matchPayment(signed)(record)).toBe(expected);
  });

  it.each([
    [{ signature: "" }, undefined, { creationRequestSignatureBase64: "" }],
    [{ signature: " " }, undefined, { creationRequestSignatureBase64: " " }],
    [{ body: "{}" }, undefined, { creationRequestBody: "{}" }],
    [{ senderGatewayTransactionId: "7" }, "match", { senderGatewayTransactionId: 7 }],
    [{ senderGatewayTransactionId: "T-\uff17 " }, "match", { senderGatewayTransactionId: "t-7" }],
  ] as const)("compares a claim with %j: %s for %j", (more, expected, record) => {
    expect(matchPayment({ ...signed, ...more })(record)).toBe(expected);
  });

  it.each([
    ["{}", "{ }", true],
    ['{"a":1,"b":[true,{"c":null}]}', '{ "b": [true, { "c": null }], "a": 1 }', true],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}', true],
    ["{}", "null", false],
    ["{}", "[]", false],
    ["1", '"1"', true],
    ["[1]", '["1"]', false],
    ['"a b"', '" a b "', true],
    ['"{}"', "{}", false],
    ['{"a":1}', '{"b":1}', false],
    ['{"a":1}', '{"a":1,"b":2}', false],
    ["[1,2]", "[2,1]", false],
    ["[1]", "[1,2]", false],
    ["[1]", '{"0":1}', false],
    ['{"__proto__":{}}', '{"a":{}}', false],
  ])("compares data in extras: %s and %s", (one, other, isSame) => {
    const sent = { ...signed, body: `{"id":"pi-1","extras":${one}}` };
    const record = { senderGatewayTransactionId: "TX-1", creationRequestBody: `{"id":"pi-1","extras":${other}}` };
    expect(matchPayment(sent)(record)).toBe(isSame ? "found" : "match");
  });
});

describe("isAnother", () => {
  it.each([
    ["another signature and body", true, { creationRequestSignatureBase64: base64(7), creationRequestBody: otherText }],
    ["another signature, its body", false, { creationRequestSignatureBase64: base64(7), creationRequestBody: text() }],
    ["another signature, no body", false, { creationRequestSignatureBase64: base64(7) }],
    [
      "its signature, another body",
      false,
      { creationRequestSignatureBase64: base64(251), creationRequestBody: otherText },
    ],
    ["no signature", false, { creationRequestBody: otherText }],
    ["nothing", false, {}],
  ])("%s: %s", (_title, expected, record) => {
    expect(isAnother(signed, record)).toBe(expected);
  });
});
