import { expect, it } from "vitest";
import { describeName, describeValue } from "../../src/core/describe.js";

class Odd {
  constructor(readonly called: string) {}
  get [Symbol.toStringTag](): string {
    return this.called;
  }
}

it.each([
  [undefined, "undefined"],
  [null, "null"],
  [Number.NaN, "NaN"],
  ["", "an empty string"],
  ["DE89370400440532013000", "a string"],
  [12345678, "a number"],
  [12345678n, "a bigint"],
  [true, "a boolean"],
  [Symbol("12345678"), "a symbol"],
  [() => "12345678", "a function"],
  [{ account: "12345678" }, "an object"],
  [["12345678"], "an array"],
  [new Map(), "a Map"],
  [Promise.resolve("12345678"), "a Promise"],
  [new ArrayBuffer(8), "an ArrayBuffer"],
  [new Uint8Array(8), "a Uint8Array"],
  [new Odd("MyObject"), "a MyObject"],
  [new Odd("a12"), "an a12"],
  [new Odd("DE89370400440532013000"), "an object"],
  [new Odd("Zoë Müller"), "an object"],
  [new Odd(""), "an object"],
])("tells what %s is, and nothing of what is in it", (value, description) => {
  expect(describeValue(value)).toBe(description);
});

it.each([
  ["", '""'],
  ["memo", '"memo"'],
  ["_line2_of12", '"_line2_of12"'],
  ["n".repeat(40), `"${"n".repeat(40)}"`],
  ["n".repeat(41), "of a name of 41 characters"],
  ["a123", "of a name of 4 characters"],
  ["2nd", "of a name of 3 characters"],
  ["two words", "of a name of 9 characters"],
  ["memo!", "of a name of 5 characters"],
  ["DE89370400440532013000", "of a name of 22 characters"],
])("shows the unknown name %j only where it looks like one", (name, description) => {
  expect(describeName(name)).toBe(description);
});
