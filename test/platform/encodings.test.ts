import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { decodeBase64, encodeBase64, readPemBlocks, tidyPem } from "../../src/platform/encodings.js";

it("encodes and decodes any bytes as Buffer does", () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => {
      const text = encodeBase64(bytes);
      expect(text).toBe(Buffer.from(bytes).toString("base64"));
      expect(decodeBase64(text)).toEqual(bytes);
    }),
  );
});

it.each<[string, string | undefined]>([
  ["Zm9v\r\nYmFy\n", "foobar"],
  ["Zm9vYg", "foob"],
  ["Zm9vYh==", "foob"],
  ["", ""],
  ...["Zm9v-_8=", "Zm9vY", "Zm9vYg=", "Zm9vYg===", "Zm=9", "Zm9v.", "ž", "="].map((text): [string, undefined] => [
    text,
    undefined,
  ]),
])("decodes %j to %j", (text, decoded) => {
  expect(decodeBase64(text)).toEqual(decoded === undefined ? undefined : new TextEncoder().encode(decoded));
});

const foobar = "-----BEGIN A-----\nZm9vYmFy\n-----END A-----\n";

describe("readPemBlocks", () => {
  it("reads every complete block, and skips what stands between them", () => {
    const text =
      "first\n-----BEGIN A-----\nZm9v\nYmFy\n-----END A-----\nsecond\r\n-----BEGIN B C-----\r\n-----END B C-----";
    expect(readPemBlocks(text)).toEqual([
      { label: "A", pem: foobar },
      { label: "B C", pem: "-----BEGIN B C-----\n-----END B C-----\n" },
    ]);
  });

  it("keeps the headers of an encrypted PKCS#1 key", () => {
    const text = "-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nZm9vYmFy\n-----END A-----\n";
    for (const given of [text, text.replaceAll("\n", "\\n")]) expect(tidyPem(given)).toBe(text);
  });

  it.each([
    ["that is only an end", "Zm9vYmFy\n-----END A-----\n-----END undefined-----"],
    ["whose labels differ", "-----BEGIN A-----\nZm9vYmFy\n-----END B-----"],
    ["that was cut off at its end", "-----BEGIN A-----\nZm9vYmFy\n-----END A"],
  ])("finds no block in a text %s", (_name, text) => {
    expect(readPemBlocks(text)).toEqual([]);
    expect(tidyPem(text)).toBe(text);
  });

  it("reads a text of many labels in linear time", () => {
    expect(readPemBlocks("-----BEGIN A-----\n".repeat(100_000))).toEqual([]);
  });
});
