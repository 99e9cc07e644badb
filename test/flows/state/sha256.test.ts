import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, it } from "vitest";
import { sha256Hex } from "../../../src/flows/state/sha256.js";

const known = (text: string) => createHash("sha256").update(text, "utf8").digest("hex");

it("is what OpenSSL makes of the same text, of any length", () => {
  for (let length = 0; length < 200; length += 1) expect(sha256Hex("a".repeat(length))).toBe(known("a".repeat(length)));
  fc.assert(fc.property(fc.string({ unit: "grapheme", maxLength: 500 }), (text) => sha256Hex(text) === known(text)));
});
