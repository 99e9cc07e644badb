import { describe, expect, it } from "vitest";
import { type PaymentMatch, paymentMatcher } from "../../src/flows/match-payment.js";
import { intent } from "./gateway-client.js";

const senderGatewayTransactionId = "TX-1";

/** What a payment without a signature, of the same transaction, is to a flow that sent a body. */
function match(sent: string, listed: string): PaymentMatch {
  const claims = [{ body: sent, signature: Buffer.alloc(256, 7).toString("base64") }];
  return paymentMatcher({ intent, senderGatewayTransactionId, claims })({
    senderGatewayTransactionId,
    creationRequestBody: listed,
  });
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

  it.each(["", "{}", "[]", "no JSON"])(
    "proves nothing where neither it nor the flow's own says anything: %j",
    (body) => {
      expect(match(body, body)).toBe("lookalike");
    },
  );
});
