import type { PaymentIntentRequest } from "cross-border-payments";
import fc from "fast-check";
import { expect, it } from "vitest";
import { copyRequest } from "../../../src/flows/state/copy-request.js";
import { frozenCopy } from "../../../src/flows/state/frozen-copy.js";
import { request } from "../flow-fixture.js";

it("copies any JSON data, and freezes every part of the copy only", () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      const copy = frozenCopy(value);
      expect(copy).toEqual(value);
      const pairs: [unknown, unknown][] = [[value, copy]];
      for (let pair = pairs.pop(); pair !== undefined; pair = pairs.pop()) {
        const [one, other] = pair;
        if (typeof one !== "object" || one === null) continue;
        expect(other).not.toBe(one);
        expect([Object.isFrozen(one), Object.isFrozen(other)]).toEqual([false, true]);
        for (const key of Object.keys(one)) pairs.push([Reflect.get(one, key), Reflect.get(Object(other), key)]);
      }
    }),
  );
});

it("copies data of any depth", () => {
  const text = `${'{"a":['.repeat(20_000)}1${"]}".repeat(20_000)}`;
  let part: unknown = frozenCopy(JSON.parse(text));
  let depth = 0;
  for (; typeof part === "object"; part = Object.values(Object(part))[0]) depth += Object.isFrozen(part) ? 1 : 0;
  expect([part, depth]).toEqual([1, 40_000]);
});

it("keeps __proto__ as a name like any other", () => {
  const copy: object = frozenCopy(JSON.parse('{"__proto__":{"isAdmin":true}}'));
  expect(Object.keys(copy)).toEqual(["__proto__"]);
  expect(Reflect.get(copy, "isAdmin")).toBeUndefined();
});

it("copies an object that contains itself", () => {
  const loop: { self?: unknown } = {};
  loop.self = loop;
  const copy = frozenCopy(loop);
  expect(copy.self).toBe(copy);
  expect(copy).not.toBe(loop);
});

it("copies an object that is there twice once, also where it contains itself", () => {
  const shared: { self?: unknown } = {};
  const { one, other } = frozenCopy({ one: shared, other: shared });
  expect(one).toBe(other);
  shared.self = shared;
  const loop = frozenCopy({ shared });
  expect(loop.shared.self).toBe(loop.shared);
  expect(loop.shared).not.toBe(shared);
});

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
