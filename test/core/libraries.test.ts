import { afterEach, expect, it, vi } from "vitest";

afterEach(() => {
  for (const name of ["undici", "openid-client", "../../src/core/zod.js"]) vi.doUnmock(name);
  vi.resetModules();
});

it.each([
  ["undici", "loadUndici", "undici"],
  ["openid-client", "loadOpenIdClient", "openid-client"],
  ["zod", "loadZod", "../../src/core/zod.js"],
] as const)(
  "says that %s can't be loaded, in a new error for each call, and loads it later",
  async (name, load, file) => {
    vi.resetModules();
    vi.doMock(file, () => {
      throw new Error("too many open files");
    });
    const libraries = await import("../../src/core/libraries.js");
    const failed = () => libraries[load]().catch((error: unknown) => error);
    const [first, second] = [await failed(), await failed()];
    expect(first).toMatchObject({
      code: "invalid_config",
      effect: "none",
      message: expect.stringContaining(`The package ${name} can't be loaded`),
      cause: expect.anything(),
    });
    expect(second).toEqual(first);
    expect(second).not.toBe(first);
    vi.doUnmock(file);
    expect(Object.keys(await libraries[load]()).length).toBeGreaterThan(5);
  },
);
