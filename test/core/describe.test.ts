import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { counted, describeName, describeThrown, describeValue, nearest } from "../../src/core/describe.js";
import { hostileThrows } from "./hostile-throws.js";
import { shownTexts } from "./shown-texts.js";

it.each([
  [undefined, "undefined"],
  [null, "null"],
  [Number.NaN, "NaN"],
  ["", "an empty string"],
  ["DE89370400440532013000", "a string"],
  [12345678, "a number"],
  [() => "12345678", "a function"],
  [{ account: "12345678" }, "an object"],
  [["12345678"], "an array"],
  [Promise.resolve("12345678"), "a Promise"],
  [new Uint8Array(8), "a Uint8Array"],
])("tells what %s is, and nothing of what is in it", (value, description) => {
  expect(describeValue(value)).toBe(description);
});

it.each([
  ["", '""'],
  ["_line2_of12", '"_line2_of12"'],
  ["n".repeat(41), "of a name of 41 characters"],
  ["a123", "of a name of 4 characters"],
  ["two words", "of a name of 9 characters"],
])("shows the unknown name %j only if it looks like one", (name, description) => {
  expect(describeName(name)).toBe(description);
});

it.each([
  ["emial", "email"],
  ["receverName", "receiverName"],
  ["RECEIVERNMAE", "receiverName"],
  ["colour", undefined],
])("finds what %s was meant to be", (given, meant) => {
  expect(nearest(given, ["email", "receiverName"])).toBe(meant);
});

const secret = "s3cret-canary-value";
const hostile = hostileThrows(secret);

it.each(Object.keys(hostile))("makes a plain error of %s, without what it may not show", (what) => {
  const cause = describeThrown(hostile[what], [secret]);
  expect(Object.getPrototypeOf(cause)).toBe(Error.prototype);
  const known = ["message", "stack", "name", "code"];
  expect(Reflect.ownKeys(cause).filter((key) => !known.includes(String(key)))).toEqual([]);
  expect(shownTexts(cause)).not.toContain(secret);
});

it.each(["E_1.x:$-", "c".repeat(64)])("keeps the code %j", (code) => {
  expect(describeThrown(Object.assign(new Error("x"), { code }))).toHaveProperty("code", code);
});

it.each(["DE12345678", 7, 89370400440532, "two words", "", "c".repeat(65), {}, null])(
  "leaves out the code %j, and takes the same for no name",
  (code) => {
    const cause = describeThrown(Object.assign(new Error("x"), { code, name: code }));
    expect(cause).not.toHaveProperty("code");
    expect(cause.name).toBe("Error");
  },
);

it.each([
  ["has no frames", "TypeError: said otherwise", ""],
  ["has a secret in its frames", `x\n    at ${secret} (file.js:1:2)`, "\n    at [redacted] (file.js:1:2)"],
])("makes a new stack if it %s", (_, stack, frames) => {
  const thrown = Object.assign(new TypeError("refused"), { stack });
  expect(describeThrown(thrown, [secret]).stack).toBe(`TypeError: refused${frames}`);
});

it("takes an error of another realm, such as Jest's, for an error", () => {
  const thrown: unknown = runInNewContext("new TypeError('refused')");
  expect(describeThrown(thrown)).toMatchObject({ name: "TypeError", message: "refused" });
});

it("says how many", () => {
  expect([0, 1, 2].map((count) => counted(count, "look"))).toEqual(["0 looks", "1 look", "2 looks"]);
});
