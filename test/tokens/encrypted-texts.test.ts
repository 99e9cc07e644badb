import { randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { EncryptedTexts, type ServerTexts } from "../../src/tokens/encrypted-texts.js";

/** A server in memory. */
function textsIn(stored: Map<string, string>): ServerTexts {
  return {
    get: async (key) => stored.get(key),
    put: async (key, text, _ttlMs, expected) => {
      if (stored.get(key) !== expected) return false;
      stored.set(key, text);
      return true;
    },
  };
}

it("does not replace by its version what another has replaced since, though it can't read that", async () => {
  const texts = textsIn(new Map());
  const [one, other] = [randomBytes(32), randomBytes(32)].map((key) => new EncryptedTexts(texts, key, "Store"));
  await one?.write("key", "value", 1000, undefined);
  const { version } = (await one?.read("key")) ?? {};
  expect(await other?.write("key", "of another", 1000, undefined)).toBe(true);
  expect(await one?.write("key", "late", 1000, version)).toBe(false);
  expect((await other?.read("key"))?.value).toBe("of another");
});

it("has stored nothing where what was in the way is gone when it looks", async () => {
  const texts = { get: async () => undefined, put: async () => false };
  const gone = new EncryptedTexts(texts, randomBytes(32), "Store");
  expect(await gone.write("key", "value", 1000, undefined)).toBe(false);
});
