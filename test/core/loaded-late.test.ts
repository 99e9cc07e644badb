import { expect, it } from "vitest";
import { loadedLate } from "../../src/core/lazy-load.js";

it("says what can't be loaded, why, and what did not happen without it, in a new error for each call", async () => {
  const loading = Promise.reject(new Error("no such chunk"));
  const failed = () => loadedLate(loading, "what pays").catch((error: unknown) => error);
  const [first, second] = [await failed(), await failed()];
  expect(first).toMatchObject({
    name: "ConfigError",
    message: expect.stringMatching(/^what pays can't be loaded, so nothing was sent; is the package /),
    cause: { message: "no such chunk" },
  });
  expect(second).toEqual(first);
  expect(second).not.toBe(first);
});

it("takes an empty file for none", async () => {
  const error: unknown = await loadedLate(Promise.resolve({}), "what pays").catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ name: "ConfigError", cause: { message: "the file is empty" } });
  expect(await loadedLate(Promise.resolve({ pay: 1 }), "what pays")).toEqual({ pay: 1 });
});
