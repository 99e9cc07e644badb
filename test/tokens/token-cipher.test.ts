import { createDecipheriv, randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, it, onTestFinished, vi } from "vitest";
import { TokenCipher } from "../../src/tokens/token-cipher.js";

const encryptionKey = randomBytes(32);
const cipher = new TokenCipher(encryptionKey, "Store");

it("gives back what it encrypted, for any text", async () => {
  await fc.assert(
    fc.asyncProperty(fc.string({ unit: "grapheme" }), fc.string(), async (value, key) => {
      expect(await cipher.decrypt(key, await cipher.encrypt(key, value))).toBe(value);
    }),
    { numRuns: 50 },
  );
});

it("is AES-256-GCM with the key of the entry as associated data, as Node's own decipher sees it", async () => {
  const text = await cipher.encrypt("entry", "the value");
  const bytes = Buffer.from(text.slice(2), "base64");
  const decipher = createDecipheriv("aes-256-gcm", encryptionKey, bytes.subarray(0, 12));
  decipher.setAAD(Buffer.from("cross-border-payments token 1.entry"));
  decipher.setAuthTag(bytes.subarray(-16));
  expect(`${decipher.update(bytes.subarray(12, -16), undefined, "utf8")}${decipher.final("utf8")}`).toBe("the value");
});

it("never encrypts the same value to the same text", async () => {
  const texts = await Promise.all(Array.from({ length: 100 }, () => cipher.encrypt("entry", "value")));
  expect(new Set(texts).size).toBe(100);
});

it("takes its key in Base64 as well", async () => {
  const other = new TokenCipher(encryptionKey.toString("base64"), "Store");
  expect(await other.decrypt("entry", await cipher.encrypt("entry", "value"))).toBe("value");
});

it("reads nothing that was moved to another entry, or made with another key", async () => {
  const text = await cipher.encrypt("entry", "value");
  expect(await cipher.decrypt("another", text)).toBeUndefined();
  expect(await new TokenCipher(randomBytes(32), "Store").decrypt("entry", text)).toBeUndefined();
});

it("reads nothing of which any character was changed or cut off", async () => {
  const text = await cipher.encrypt("entry", "value");
  for (let at = 0; at < text.length; at++) {
    const other = text[at] === "A" ? "B" : "A";
    expect(await cipher.decrypt("entry", text.slice(0, at) + other + text.slice(at + 1))).toBeUndefined();
    expect(await cipher.decrypt("entry", text.slice(0, at))).toBeUndefined();
  }
});

it.each(["", "1.", "1.!", "2.AAAA", "rubbish", "1.AAAA"])("reads nothing of what it did not make: %s", async (text) => {
  expect(await cipher.decrypt("entry", text)).toBeUndefined();
});

it("does not begin to read what is longer than any value", async () => {
  const text = await cipher.encrypt("entry", "v".repeat(2 ** 20));
  const decode = vi.spyOn(globalThis, "atob");
  onTestFinished(() => decode.mockRestore());
  expect(await cipher.decrypt("entry", text)).toBeUndefined();
  expect(decode).not.toHaveBeenCalled();
});

it("does not follow its key where the caller changes the bytes later", async () => {
  const bytes = randomBytes(32);
  const copying = new TokenCipher(bytes, "Store");
  const same = new TokenCipher(Uint8Array.from(bytes), "Store");
  bytes.fill(0);
  expect(await same.decrypt("entry", await copying.encrypt("entry", "value"))).toBe("value");
});

it.each([
  [undefined, "undefined"],
  ["", "0 bytes"],
  ["hunter2!", "a string that is not Base64"],
  ["hunter22hunter22hunter22hunter22", "24 bytes"],
  [randomBytes(16), "16 bytes"],
  [randomBytes(32).toString("hex"), "48 bytes"],
  [{ length: 32 }, "object"],
])("refuses a key of another length (case %#), and does not show it", (given, found) => {
  expect(() => new TokenCipher(given as string, "RedisTokenStore")).toThrow(
    `RedisTokenStore: encryptionKey must be 32 random bytes, or those in Base64 (openssl rand -base64 32); got ${found}`,
  );
});
