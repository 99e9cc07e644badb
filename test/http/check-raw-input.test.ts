import { describe, expect, it } from "vitest";
import type { RawOperation } from "../../src/api/operation.js";
import { parsePathTemplate } from "../../src/api/path.js";
import { InvalidArgumentError } from "../../src/core/errors.js";
import { checkRawBody, textsIn } from "../../src/http/check-raw-input.js";
import { thrownBy } from "../signing/test-keys.js";

const refund: RawOperation = {
  name: "POST /refunds",
  verb: "request",
  method: "POST",
  path: parsePathTemplate("/refunds"),
  idempotent: false,
};

function messageOf(work: () => unknown): string {
  const error = thrownBy(work);
  expect(error).toBeInstanceOf(InvalidArgumentError);
  return (error as InvalidArgumentError).message;
}

describe("a body", () => {
  const check = (body: unknown) => checkRawBody(refund, body);

  it("is asked for its JSON as JSON.stringify asks it", () => {
    const body = { toJSON: (name: string) => ({ name }) };
    expect(JSON.stringify(check(body))).toBe(JSON.stringify(body));
  });

  it("can't make itself undefined", () => {
    expect(messageOf(() => check({ toJSON: () => undefined }))).toBe(
      "POST /refunds: the toJSON method of the body returned undefined",
    );
  });
});

it("finds every text and number of a value, and the names that may be values", () => {
  const value = {
    holder: "Erika",
    lines: [{ amount: 948271.5, of: { DE11222233334444: null } }, "rent", true],
    "a b": 7,
  };
  expect(textsIn(value)).toEqual(["Erika", "948271.5", "DE11222233334444", "rent", "a b", "7"]);
  for (const nothing of [null, undefined, true]) expect(textsIn(nothing)).toEqual([]);
});
