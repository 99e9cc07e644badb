import { afterEach, expect, it, vi } from "vitest";

const rows = [
  ["undici", "undici", async () => (await import("../../src/platform/undici-agent.js")).loadUndici],
  ["openid-client", "openid-client", async () => (await import("../../src/core/libraries.js")).loadOpenIdClient],
  ["zod", "../../src/core/zod.js", async () => (await import("../../src/core/libraries.js")).loadZod],
] as const;

afterEach(() => {
  for (const [, file] of rows) vi.doUnmock(file);
  vi.resetModules();
});

it.each(rows)(
  "says that %s can't be loaded, in a new error for each call, and loads it later",
  async (name, file, find) => {
    vi.resetModules();
    vi.doMock(file, () => {
      throw new Error("too many open files");
    });
    const load: () => Promise<object> = await find();
    const failed = () => load().catch((error: unknown) => error);
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
    expect(Object.keys(await load()).length).toBeGreaterThan(5);
  },
);
