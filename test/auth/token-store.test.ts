import { expect, it } from "vitest";
import { isTokenStore } from "../../src/auth/token-store.js";
import { MemoryTokenStore } from "../../src/tokens/memory-token-store.js";

const method = () => undefined;
const methods = { read: method, lock: method, unlock: method, write: method };

it("takes a store whose methods are its own, and one whose methods are its class's", () => {
  expect(isTokenStore(methods)).toBe(true);
  expect(isTokenStore(new MemoryTokenStore())).toBe(true);
});

it.each([
  ["undefined", undefined],
  ["null", null],
  ["a text", "redis://localhost"],
  ["a function with the methods", Object.assign(() => undefined, methods)],
  ["an object without methods", {}],
  ...Object.keys(methods).flatMap((name): [string, unknown][] => [
    [`a store without ${name}`, { ...methods, [name]: undefined }],
    [`a store whose ${name} is no function`, { ...methods, [name]: "done" }],
  ]),
])("takes %s for no store", (_, value) => {
  expect(isTokenStore(value)).toBe(false);
});
