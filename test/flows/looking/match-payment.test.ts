import { describe, expect, it } from "vitest";
import {
  isAnothers,
  type PaymentMatch,
  paymentMatcher,
  type Recognisable,
} from "../../../src/flows/looking/match-payment.js";
import type { Payment } from "../../../src/resources/payments.js";
import { intent } from "../gateway-client.js";

const senderGatewayTransactionId = "TX-1";

const base64 = (bytes: number, byte: number) => Buffer.alloc(bytes, byte).toString("base64");

function matchAny(claims: Recognisable["claims"], listed: Partial<Record<keyof Payment, unknown>>): PaymentMatch {
  return paymentMatcher({ intent, senderGatewayTransactionId, claims })(listed);
}

/** What a payment without a signature, of the same transaction, is to a flow that sent a body. */
function match(sent: string, listed: unknown): PaymentMatch {
  const claims = [{ body: sent, signature: base64(256, 7) }];
  return matchAny(claims, { senderGatewayTransactionId, creationRequestBody: listed });
}

const withDetails = (details: string) => `{"id":"pi-1","details":${details}}`;

describe("the body that a service lists", () => {
  it.each([
    ["{}", "{ }"],
    ["[]", "[ ]"],
    ["null", "null"],
    ['{"a":1,"b":[true,{"c":null}]}', '{ "b": [true, { "c": null }], "a": 1 }'],
    ['{"a":{"b":{"c":"d"}},"e":{"f":[[],{}]}}', '{"e":{"f":[[],{}]},"a":{"b":{"c":"d"}}}'],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
  ])("is the flow's own where its data are the same: %s and %s", (sent, listed) => {
    expect(match(withDetails(sent), withDetails(listed))).toBe("own");
  });

  it.each([
    ["{}", "5"],
    ["{}", '""'],
    ["{}", "null"],
    ["{}", "[]"],
    ["[]", '""'],
    ["1", '"1"'],
    ["0", "null"],
    ['{"a":1}', '{"a":2}'],
    ['{"a":1}', '{"b":1}'],
    ['{"a":1}', '{"a":1,"b":2}'],
    ['{"a":{"b":{"c":"d"}}}', '{"a":{"b":{"c":"e"}}}'],
    ["[1,2]", "[2,1]"],
    ["[1]", "[1,2]"],
    ["[1]", '{"0":1}'],
    ['{"__proto__":{}}', '{"a":{}}'],
    ['{"a":1,"b":[true,{"c":null}]}', '{"a":1,"b":[true,{"c":0}]}'],
  ])("is another where its data are others, either way round: %s and %s", (one, other) => {
    expect(match(withDetails(one), withDetails(other))).toBe("lookalike");
    expect(match(withDetails(other), withDetails(one))).toBe("lookalike");
  });

  it.each<[field: string, sent: unknown, same: unknown, other: unknown]>([
    ["receiverAmount", "1.5", "1.50", "1.51"],
    ["receiverAmount", 1.5, "1.50", 15],
    ["receivingGatewayFee", "0E-7", 0, "0.1"],
    ["senderAccount", "DE89 3704", "DE893704", "DE89 3705"],
    ["memo", " fees ", "fees", "fee s"],
    ["id", 17, "17", "18"],
    ["receiverName", null, null, "null"],
    ["unknown", "1", "1", 1],
  ])("may write %s in another way: %j as %j, and not as %j", (field, ...values) => {
    const [sent, same, other] = values.map((value) => JSON.stringify({ senderName: "Ada", [field]: value }));
    expect([match(sent ?? "", same), match(sent ?? "", other)]).toEqual(["own", "lookalike"]);
  });

  it.each(["__proto__", "constructor"])("is another where only one of them has a field %s", (name) => {
    const [one, other] = ['{"id":"pi-1"}', `{"id":"pi-1","${name}":{}}`] as const;
    expect([match(one, other), match(other, one)]).toEqual(["lookalike", "lookalike"]);
  });

  it("is none where it is no text", () => {
    const body = withDetails("{}");
    expect(match(body, [body])).toBe("lookalike");
  });

  it("is the flow's own where any of its requests had it", () => {
    const signature = base64(256, 7);
    const claims = ["1", "2"].map((details) => ({ body: withDetails(details), signature }));
    expect(claims.map(({ body }) => matchAny(claims, { creationRequestBody: body }))).toEqual(["own", "own"]);
  });

  it("does not make a payment of another transaction the flow's own", () => {
    const body = withDetails("{}");
    const listed = { senderGatewayTransactionId: "TX-2", creationRequestBody: body };
    expect(matchAny([{ body, signature: base64(256, 7) }], listed)).toBe("lookalike");
  });

  it.each(["", "{}", "[]", "no JSON"])(
    "proves nothing where neither it nor the flow's own says anything: %j",
    (body) => {
      expect(match(body, body)).toBe("lookalike");
    },
  );
});

describe("the signature that a service lists", () => {
  it("is the flow's own in Base64url too", () => {
    const signature = "+/+/".repeat(64);
    const listed = { creationRequestSignatureBase64: "-_-_".repeat(64) };
    expect(matchAny([{ body: "", signature }], listed)).toBe("own");
  });

  it("is somebody else's where it has the size of any of the flow's, whatever the body", () => {
    const body = withDetails("{}");
    const claims = [256, 512].map((bytes) => ({ body, signature: base64(bytes, 7) }));
    const listed = (bytes: number) => ({ creationRequestSignatureBase64: base64(bytes, 8), creationRequestBody: body });
    expect([256, 384, 512].map((bytes) => matchAny(claims, listed(bytes)))).toEqual(["lookalike", "own", "lookalike"]);
  });

  it.each(["", " ".repeat(344), 5, "x"])(
    "proves nothing where it is empty, no text or no Base64, and the flow has none either: %j",
    (signature) => {
      const listed = { creationRequestSignatureBase64: signature, creationRequestBody: withDetails("1") };
      expect(matchAny([{ body: withDetails("2"), signature: "" }], listed)).toBeUndefined();
      expect(matchAny([{ body: withDetails("1"), signature: "" }], listed)).toBe("own");
    },
  );
});

describe("the transaction id that a service lists", () => {
  it.each([
    ["TX-1", "tx-1"],
    ["tx-1", "TX-1"],
    ["TX-1", " TX-1  "],
    ["17", 17],
    ["Zo\u00eb-1", "Zoe\u0308-1"],
    ["Zoe\u0308-1", "Zo\u00eb-1"],
    ["\uff34X-1", "TX-1"],
  ])("may be the flow's own in another form: %j as %j", (own, listed) => {
    const flow = { intent, senderGatewayTransactionId: own, claims: [] };
    expect(paymentMatcher(flow)({ senderGatewayTransactionId: listed })).toBe("lookalike");
    const body = JSON.stringify({ senderGatewayTransactionId: listed });
    expect(paymentMatcher(flow)({ creationRequestBody: body })).toBe("lookalike");
  });

  it.each([
    [intent.senderGatewayId, "lookalike"],
    [undefined, "lookalike"],
    [5, "lookalike"],
    ["another gateway", undefined],
  ])("is the flow's own of its gateway alone: %j", (senderGatewayId, kind) => {
    const flow = { intent, senderGatewayTransactionId, claims: [] };
    expect(paymentMatcher(flow)({ senderGatewayId, senderGatewayTransactionId })).toBe(kind);
  });

  it("is the flow's own if the intent has its gateway as a number", () => {
    const ofNumber = { ...intent, senderGatewayId: 17 as unknown as string };
    const flow = { intent: ofNumber, senderGatewayTransactionId, claims: [] };
    expect(paymentMatcher(flow)({ senderGatewayId: "17", senderGatewayTransactionId })).toBe("lookalike");
    expect(paymentMatcher(flow)({ senderGatewayId: "17" })).toBe("nameless");
  });

  it.each(["TX-10", "TX-", "", undefined, null, ["TX-1"], { toString: 1 }])(
    "is another one where it is %j",
    (listed) => {
      const signature = base64(256, 8);
      const flow = { intent, senderGatewayTransactionId, claims: [] };
      const payment = { senderGatewayTransactionId: listed, creationRequestSignatureBase64: signature };
      expect(paymentMatcher(flow)(payment)).toBeUndefined();
    },
  );
});

describe("a payment that has neither signature nor body nor transaction id", () => {
  const claims = [{ body: withDetails("1"), signature: base64(256, 7) }];
  const { senderGatewayId } = intent;

  it.each([
    {},
    { senderGatewayId },
    { senderGatewayId: "" },
    { senderGatewayId: 5 },
    { creationRequestSignatureBase64: null, creationRequestBody: null, senderGatewayTransactionId: null },
    { creationRequestSignatureBase64: " ", creationRequestBody: "", senderGatewayTransactionId: " " },
    { creationRequestBody: JSON.parse(withDetails("1")), senderGatewayTransactionId: 1 },
  ])("can be anybody's: %j", (listed) => {
    expect(matchAny(claims, listed)).toBe("nameless");
  });

  it.each([
    { senderGatewayId: "another gateway" },
    { creationRequestSignatureBase64: base64(256, 8) },
    { creationRequestBody: withDetails("2") },
    { senderGatewayTransactionId: "TX-2" },
  ])("is another one where it has %j", (listed) => {
    expect(matchAny(claims, listed)).toBeUndefined();
  });
});

describe("the record that comes in response to a claim", () => {
  const claim = { body: '{"id":"pi-1","amount":"1.0"}', signature: base64(256, 7) };
  const others = { creationRequestBody: '{"id":"pi-2"}', creationRequestSignatureBase64: base64(256, 8) };

  it("is another payment's where its body is another one, with a signature of its own", () => {
    expect(isAnothers(others, claim)).toBe(true);
  });

  it.each<[what: string, record: object]>([
    ["the body that was sent", { ...others, creationRequestBody: claim.body }],
    ["that body in another order", { ...others, creationRequestBody: '{"amount":"1.0", "id":"pi-1"}' }],
    ["no body", { ...others, creationRequestBody: undefined }],
    ["an empty body", { ...others, creationRequestBody: "{}" }],
    ["a body that is no text", { ...others, creationRequestBody: { id: "pi-2" } }],
    ["the signature that was sent", { ...others, creationRequestSignatureBase64: claim.signature }],
    ["that signature in another form", { ...others, creationRequestSignatureBase64: ` ${claim.signature}\n` }],
    ["no signature", { ...others, creationRequestSignatureBase64: undefined }],
    ["a signature of another size", { ...others, creationRequestSignatureBase64: base64(384, 8) }],
  ])("may be the flow's own with %s", (_, record) => {
    expect(isAnothers(record, claim)).toBe(false);
  });

  it.each(["", "no JSON"])("may be the flow's own where that has sent %j and gets the same", (body) => {
    expect(isAnothers({ ...others, creationRequestBody: body }, { ...claim, body })).toBe(false);
  });
});
