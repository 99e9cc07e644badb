import type { PaymentIntentRequest } from "cross-border-payments";
import { expect, it } from "vitest";
import { copyRequest } from "../../../src/flows/state/copy-request.js";
import { request } from "../flow-fixture.js";

it("copies a request, of which nothing can be changed any more", () => {
  const given = { ...request };
  const copy = copyRequest(given);
  given.memo = "something else";
  expect(copy).toEqual(request);
  expect(Object.isFrozen(copy)).toBe(true);
});

it.each([undefined, null, "alpha-bank", 5, ["alpha-bank"]])("leaves what is no object as it is: %j", (given) => {
  expect(copyRequest(given as never)).toBe(given);
});

it.each(["a plain object", "an instance"])("reads each field of %s once", (kind) => {
  let reads = 0;
  const given: object = kind === "an instance" ? new (class Order {})() : {};
  const memo = { enumerable: true, get: () => `read ${++reads} times` };
  const copy = copyRequest(Object.defineProperty(given, "memo", memo) as PaymentIntentRequest);
  expect([copy.memo, reads]).toEqual(["read 1 times", 1]);
});

it("reads the fields of an instance's class, and leaves out those that are not there", () => {
  class Order {
    readonly orderId = "order-42";
    get senderGatewayId() {
      return "alpha-bank";
    }
    get memo() {
      return undefined;
    }
  }
  const copy = copyRequest(new Order() as unknown as PaymentIntentRequest);
  expect(Object.entries(copy)).toEqual([
    ["orderId", "order-42"],
    ["senderGatewayId", "alpha-bank"],
  ]);
});
