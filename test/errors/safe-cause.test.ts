import { runInNewContext } from "node:vm";
import { expect, it } from "vitest";
import { ConnectionError } from "../../src/errors/errors.js";
import { safeCause } from "../../src/errors/safe-cause.js";
import { hostileThrows } from "./hostile-throws.js";
import { shownTexts } from "./shown-texts.js";

const secret = "s3cret-canary-value";
const hostile = hostileThrows(secret);

it.each(Object.keys(hostile))("makes a plain error of %s, without what it may not show", (what) => {
  const cause = safeCause(hostile[what], [secret]);
  expect(Object.getPrototypeOf(cause)).toBe(Error.prototype);
  expect(Reflect.ownKeys(cause).filter((key) => !["message", "stack", "name", "code"].includes(String(key)))).toEqual(
    [],
  );
  expect(shownTexts(cause)).not.toContain(secret);
});

it.each(Object.keys(hostile))("survives %s as the cause of an error", (what) => {
  const error = new ConnectionError("x", { cause: hostile[what] });
  expect(() => shownTexts(error)).not.toThrow();
});

it("keeps the name, the code, the message and the frames", () => {
  const thrown = Object.assign(new RangeError("out of quota"), { code: "ThrottlingException", extra: 1 });
  const cause = safeCause(thrown);
  expect(cause).toMatchObject({ name: "RangeError", message: "out of quota", code: "ThrottlingException" });
  expect(cause.stack).toMatch(/^RangeError: out of quota\n {4}at .*safe-cause\.test\.ts/);
});

it("keeps a code that is a small number, as gRPC has them", () => {
  expect(safeCause(Object.assign(new Error("x"), { code: 7 }))).toHaveProperty("code", 7);
  expect(safeCause(Object.assign(new Error("x"), { code: 89370400440532 }))).not.toHaveProperty("code");
});

it("takes an error of another realm for an error", () => {
  const thrown: unknown = runInNewContext("new TypeError('refused')");
  expect(thrown).not.toBeInstanceOf(Error);
  expect(safeCause(thrown)).toMatchObject({ name: "TypeError", message: "refused" });
});

it("bounds what it takes over", () => {
  const thrown = Object.assign(new Error("m".repeat(1e6)), { name: "n".repeat(1e6), code: "c".repeat(1e6) });
  const cause = safeCause(thrown);
  expect([cause.message.length < 5000, cause.name, Object.hasOwn(cause, "code")]).toEqual([true, "Error", false]);
  expect((cause.stack ?? "").length).toBeLessThan(10_000);
});
