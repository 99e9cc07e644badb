import { generateKeyPairSync, type KeyObject } from "node:crypto";
import { inspect } from "node:util";
import { expect } from "vitest";
import type { TestKeyPair } from "../support/key-pairs.js";

/** A new pair of another size than `keyPairOf` has. */
export function rsaKeyPair(modulusLength: number): TestKeyPair {
  return generateKeyPairSync("rsa", { modulusLength });
}

export function pkcs8(key: KeyObject): string {
  return String(key.export({ type: "pkcs8", format: "pem" }));
}

export function spki(key: KeyObject): string {
  return String(key.export({ type: "spki", format: "pem" }));
}

export function base64(text: string | Uint8Array): string {
  return Buffer.from(text).toString("base64");
}

export function thrownBy(work: () => unknown): unknown {
  try {
    work();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

/** No line of the secret stands anywhere in what may be printed or logged of the error. */
export function expectToTellNothingOf(secret: string, error: unknown): void {
  const stack = error instanceof Error ? `${error.message}\n${error.stack ?? ""}` : "";
  const shown = [stack, String(error), inspect(error, { showHidden: true, depth: 9 }), JSON.stringify(error)].join(
    "\n",
  );
  const lines = secret
    .split(/\s+/)
    .filter((line) => line.length >= 6 && !/^-*(BEGIN|END|PRIVATE|PUBLIC)|KEY-*$/.test(line));
  expect(lines.length).toBeGreaterThan(0);
  for (const line of lines) expect(shown).not.toContain(line);
}
