import { describe, expect, it, vi } from "vitest";
import { readResponse } from "../../src/http/read-response.js";
import { SchemaLoader } from "../../src/http/schema.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { payments } from "../../src/resources/payments.js";
import type { WireResponse } from "../../src/wire/transport.js";

const size = 10 * 2 ** 20;
const listOf = (item: string) => `[${item}${`,${item}`.repeat(size / (item.length + 1))}]`;

/** 10 MiB each. */
const texts: Readonly<Record<string, () => string>> = {
  "an array of empty objects": () => listOf("{}"),
  "an array of arrays": () => listOf("[]"),
  "an array of numbers": () => listOf("1"),
  "an array of small records": () => listOf('{"id":"1"}'),
  "arrays in arrays": () => "[".repeat(size / 2) + "]".repeat(size / 2),
  "arrays without end": () => "[".repeat(size),
  "objects in objects": () => `{"id":"1","a":${'{"a":'.repeat(size / 6)}1${"}".repeat(size / 6)}}`,
  "many fields": () => `{"id":"1"${Array.from({ length: size / 12 }, (_, index) => `,"f${index}":1`).join("")}}`,
  "one long text": () => `{"id":"${"m".repeat(size)}"}`,
  "escapes without end": () => `{"id":"${"\\".repeat(size)}`,
  "a page": () => `<html>${"m".repeat(size)}`,
  "white space": () => " ".repeat(size),
};
const operations = [payments.create, payments.list, liquidityProviders.get, liquidityProviders.update];
const endings: readonly Pick<WireResponse, "status" | "broken">[] = [
  { status: 200 },
  { status: 200, broken: "cut-short" },
  { status: 200, broken: "too-large" },
  { status: 400 },
  { status: 503 },
];

describe("readResponse", () => {
  it.each(Object.entries(texts))("takes at most 50 ms more than JSON.parse for %s", async (_, make) => {
    const schemas = await new SchemaLoader().load();
    const text = make();
    const parse = JSON.parse;
    const parsed = attempt(() => parse(text));
    // What the parsing of the whole text costs is not counted, so it is done once.
    const spy = vi
      .spyOn(JSON, "parse")
      .mockImplementation((source) => (source === text ? parsed() : (parse(source) as unknown)));
    try {
      for (const operation of operations) {
        for (const ending of endings) {
          let bestMs = Number.POSITIVE_INFINITY;
          // Other work on the machine makes the time longer, and threads that collect garbage the use of processors: neither is of this work.
          for (let round = 0; round < 10 && bestMs >= 50; round++) {
            const startMs = performance.now();
            const before = process.cpuUsage();
            readResponse(operation, {}, { headers: {}, text, ...ending }, "off", schemas);
            const { user, system } = process.cpuUsage(before);
            bestMs = Math.min(bestMs, performance.now() - startMs, (user + system) / 1000);
          }
          expect(bestMs).toBeLessThan(50);
        }
      }
    } finally {
      spy.mockRestore();
    }
  });
});

/** Does the work once, and returns or throws its outcome as often as it is asked for. */
function attempt(work: () => unknown): () => unknown {
  try {
    const value = work();
    return () => value;
  } catch (error) {
    return () => {
      throw error;
    };
  }
}
