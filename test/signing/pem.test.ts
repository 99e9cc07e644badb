import { describe, expect, it } from "vitest";
import { readPemBlocks, writePem } from "../../src/signing/pem.js";
import { keyPairOf } from "../support/key-pairs.js";
import { pkcs8, spki } from "./test-keys.js";

const { privateKey, publicKey } = keyPairOf("gateway");
const foobar = new TextEncoder().encode("foobar");

describe("readPemBlocks", () => {
  it("reads every complete block, and skips what stands between them", () => {
    const text =
      "first\n-----BEGIN A-----\nZm9v\nYmFy\n-----END A-----\nsecond\r\n-----BEGIN B C-----\r\n-----END B C-----";
    expect(readPemBlocks(text)).toEqual([
      { label: "A", isEncrypted: false, bytes: foobar },
      { label: "B C", isEncrypted: false, bytes: new Uint8Array() },
    ]);
  });

  it("reads the block after one that was cut off", () => {
    const text = "-----BEGIN A-----\nZm9v\n-----BEGIN B-----\nZm9vYmFy\n-----END B-----\n";
    expect(readPemBlocks(text)).toEqual([{ label: "B", isEncrypted: false, bytes: foobar }]);
  });

  it.each([
    ["PKCS#8", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nZm9vYmFy\n-----END ENCRYPTED PRIVATE KEY-----"],
    [
      "PKCS#1",
      "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,00\n\nZm9vYmFy\n-----END RSA PRIVATE KEY-----",
    ],
  ])("tells that %s is encrypted", (_name, text) => {
    expect(readPemBlocks(text)).toMatchObject([{ isEncrypted: true, bytes: foobar }]);
  });

  it("takes no other header for that of an encrypted key", () => {
    const text = "-----BEGIN RSA PRIVATE KEY-----\nComment: 4,ENCRYPTED\n\nZm9vYmFy\n-----END RSA PRIVATE KEY-----";
    expect(readPemBlocks(text)).toEqual([{ label: "RSA PRIVATE KEY", isEncrypted: false, bytes: foobar }]);
  });

  it.each([
    ["on one line", "-----BEGIN A----- Zm9vYmFy -----END A-----"],
    ["indented", "  -----BEGIN A-----\n  Zm9vYmFy\n  -----END A-----"],
    ["indented where it begins", "  -----BEGIN A-----\nZm9vYmFy\n-----END A-----"],
    ["on the line where it begins", "-----BEGIN A----- Zm9v\nYmFy\n-----END A-----"],
    ["whose label is that of no key", "-----BEGIN a_b-----\nZm9vYmFy\n-----END a_b-----"],
    ["only an end", "Zm9vYmFy\n-----END A-----\n-----END undefined-----"],
    ["whose labels differ", "-----BEGIN A-----\nZm9vYmFy\n-----END B-----"],
  ])("finds no block in text that is %s, as OpenSSL does", (_name, text) => {
    expect(readPemBlocks(text)).toEqual([]);
  });

  it.each(["Zm9v YmFy", "Zm9v!", "Zm9vY"])("gives no bytes for %j", (data) => {
    expect(readPemBlocks(`-----BEGIN A-----\n${data}\n-----END A-----`)).toEqual([
      { label: "A", isEncrypted: false, bytes: undefined },
    ]);
  });

  it("reads a text of many labels in linear time", () => {
    expect(readPemBlocks("-----BEGIN A-----\n".repeat(100_000))).toEqual([]);
  });
});

describe("writePem", () => {
  it("writes what OpenSSL writes", () => {
    const text = [pkcs8(privateKey), spki(publicKey)];
    const written = text.flatMap(readPemBlocks).map(({ label, bytes }) => writePem(label, bytes ?? new Uint8Array()));
    expect(written).toEqual(text);
  });
});
