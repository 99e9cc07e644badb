import { createDecipheriv, randomBytes } from "node:crypto";
import { expect, it } from "vitest";
import { EncryptedTexts, encryptionKeyOption, type ServerTexts } from "../../src/tokens/encrypted-texts.js";

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

/** A server, and who encrypts what lies in it. */
function newTexts(encryptionKey: string | Uint8Array = randomBytes(32)) {
  const stored = new Map<string, string>();
  return { stored, texts: new EncryptedTexts(textsIn(stored), encryptionKey) };
}

it("is AES-256-GCM with the key of the entry as associated data, as Node's own decipher sees it", async () => {
  const encryptionKey = randomBytes(32);
  const { stored, texts } = newTexts(encryptionKey.toString("base64"));
  await texts.write("entry", "the value", 1000, undefined);
  const bytes = Buffer.from(stored.get("entry")?.slice(2) ?? "", "base64");
  const decipher = createDecipheriv("aes-256-gcm", encryptionKey, bytes.subarray(0, 12));
  decipher.setAAD(Buffer.from("cross-border-payments token 1.entry"));
  decipher.setAuthTag(bytes.subarray(-16));
  expect(`${decipher.update(bytes.subarray(12, -16), undefined, "utf8")}${decipher.final("utf8")}`).toBe("the value");
});

it("reads nothing that was moved to another entry, changed, or cut off", async () => {
  const { stored, texts } = newTexts();
  await texts.write("entry", "value", 1000, undefined);
  const text = stored.get("entry") ?? "";
  stored.set("another", text);
  expect(await texts.read("another")).toBeUndefined();
  for (let at = 0; at < text.length; at++) {
    const other = text[at] === "A" ? "B" : "A";
    for (const changed of [text.slice(0, at) + other + text.slice(at + 1), text.slice(0, at)]) {
      stored.set("entry", changed);
      expect(await texts.read("entry")).toBeUndefined();
    }
  }
});

it.each(["", "1.", "1.!", "2.AAAA", "rubbish", "1.AAAA"])(
  "takes %j, which it did not make, for nothing",
  async (text) => {
    const { stored, texts } = newTexts();
    stored.set("entry", text);
    expect(await texts.read("entry")).toBeUndefined();
    expect(await texts.write("entry", "value", 1000, undefined)).toBe(true);
    expect((await texts.read("entry"))?.value).toBe("value");
  },
);

it("does not replace by its version what another has replaced since, though it can't read that", async () => {
  const stored = new Map<string, string>();
  const [one, other] = [1, 2].map(() => new EncryptedTexts(textsIn(stored), randomBytes(32)));
  await one?.write("key", "value", 1000, undefined);
  const { version } = (await one?.read("key")) ?? {};
  expect(await other?.write("key", "of another", 1000, undefined)).toBe(true);
  expect(await one?.write("key", "late", 1000, version)).toBe(false);
  expect((await other?.read("key"))?.value).toBe("of another");
});

it.each([undefined, "hunter2!", randomBytes(16), randomBytes(32).toString("hex"), { length: 32 }])(
  "accepts no key of another length (case %#)",
  (given) => expect(encryptionKeyOption.accepts(given)).toBe(false),
);
