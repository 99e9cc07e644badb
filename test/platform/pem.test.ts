import { describe, expect, it } from "vitest";
import { readPemBlocks, tidyPem, writePem } from "../../src/platform/pem.js";
import { pkcs8, spki } from "../signing/test-keys.js";
import { keyPairOf } from "../support/key-pairs.js";

const { privateKey, publicKey } = keyPairOf("gateway");
const foobar = new TextEncoder().encode("foobar");

describe("readPemBlocks", () => {
  it("reads every complete block, and skips what stands between them", () => {
    const text =
      "first\n-----BEGIN A-----\nZm9v\nYmFy\n-----END A-----\nsecond\r\n-----BEGIN B C-----\r\n-----END B C-----";
    expect(readPemBlocks(text)).toEqual([
      { label: "A", bytes: foobar },
      { label: "B C", bytes: new Uint8Array() },
    ]);
  });

  it("reads the block after one that was cut off", () => {
    const text = "-----BEGIN A-----\nZm9v\n-----BEGIN B-----\nZm9vYmFy\n-----END B-----\n";
    expect(readPemBlocks(text)).toEqual([{ label: "B", bytes: foobar }]);
  });

  it.each([
    ["spaces for line breaks", "-----BEGIN A----- Zm9v YmFy -----END A-----"],
    ["no line breaks", "-----BEGIN A-----Zm9vYmFy-----END A-----"],
    ["the characters \\n for line breaks", "-----BEGIN A-----\\nZm9v\\r\\nYmFy\\n-----END A-----\\n"],
    ["quotes around it", '"-----BEGIN A-----\nZm9v\nYmFy\n-----END A-----"'],
    ["indented lines", "  -----BEGIN A-----\n  Zm9v\n\tYmFy\n  -----END A-----"],
    ["a byte order mark", "\ufeff-----BEGIN A-----\nZm9vYmFy\n-----END A-----"],
  ])("reads a block with %s", (_name, text) => {
    expect(readPemBlocks(text)).toEqual([{ label: "A", bytes: foobar }]);
    expect(tidyPem(text)).toMatch(/^\ufeff?-----BEGIN A-----\nZm9vYmFy\n-----END A-----\n$/);
  });

  it.each([
    ["in lines", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nZm9vYmFy"],
    ["on one line", "Proc-Type: 4,ENCRYPTED DEK-Info: AES-256-CBC,00 Zm9vYmFy"],
  ])("reads the headers of an encrypted PKCS#1 key %s", (_name, content) => {
    const text = `-----BEGIN A-----\n${content}\n-----END A-----\n`;
    expect(readPemBlocks(text)).toEqual([{ label: "A", dekInfo: "AES-256-CBC,00", bytes: foobar }]);
    expect(tidyPem(text.replaceAll("\n", " "))).toBe(
      "-----BEGIN A-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nZm9vYmFy\n-----END A-----\n",
    );
  });

  it.each([
    ["whose label is that of no key", "-----BEGIN a_b-----\nZm9vYmFy\n-----END a_b-----"],
    ["that is only an end", "Zm9vYmFy\n-----END A-----\n-----END undefined-----"],
    ["whose labels differ", "-----BEGIN A-----\nZm9vYmFy\n-----END B-----"],
    ["that was cut off at its end", "-----BEGIN A-----\nZm9vYmFy\n-----END A"],
  ])("finds no block in a text %s", (_name, text) => {
    expect(readPemBlocks(text)).toEqual([]);
    expect(tidyPem(text)).toBe(text);
  });

  it.each(["Zm9v!", "Zm9vY", "Comment: 4,ENCRYPTED\n\nZm9v"])("gives no bytes for %j", (data) => {
    const text = `-----BEGIN A----- ${data}\n-----END A-----`;
    expect(readPemBlocks(text)).toEqual([{ label: "A", bytes: undefined }]);
    expect(tidyPem(text)).toBe(text);
  });

  it("reads a text of many labels in linear time", () => {
    expect(readPemBlocks("-----BEGIN A-----\n".repeat(100_000))).toEqual([]);
  });
});

it("writes what OpenSSL writes, and leaves it as it is", () => {
  const text = [pkcs8(privateKey), spki(publicKey), spki(publicKey).replaceAll("\n", "\r\n")];
  const written = text.flatMap(readPemBlocks).map(({ label, bytes }) => writePem(label, bytes ?? new Uint8Array()));
  expect(written).toEqual([text[0], text[1], text[1]]);
  expect(text.map(tidyPem)).toEqual(text);
});
