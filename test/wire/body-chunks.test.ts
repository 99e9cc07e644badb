import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { BodyChunks } from "../../src/wire/body-chunks.js";
import { isThorough, runs } from "../support/thorough.js";

/** Cuts a text into pieces of these lengths, again and again, each within memory of its own or all in that of the text. */
function cut(text: string, lengths: readonly number[], sharesMemory: boolean): Uint8Array[] {
  const bytes = new Uint8Array(Buffer.from(text));
  const chunks: Uint8Array[] = [];
  for (let start = 0, turn = 0; start < bytes.length; turn++) {
    const end = start + (lengths[turn % lengths.length] ?? 1);
    chunks.push(sharesMemory ? bytes.subarray(start, end) : bytes.slice(start, end));
    start = end;
  }
  return chunks;
}

function decode(chunks: readonly Uint8Array[]) {
  const body = new BodyChunks();
  for (const chunk of chunks) body.push(chunk);
  return { bytes: body.bytes, ...body.decode() };
}

const length = fc.oneof(
  fc.integer({ min: 1, max: 5 }),
  fc.integer({ min: 1000, max: 1050 }),
  fc.integer({ min: 1, max: 90_000 }),
);
const text = fc
  .tuple(fc.string({ unit: "binary", minLength: 1, maxLength: 200 }), fc.integer({ min: 1, max: 900 }))
  .map(([unit, times]) => unit.repeat(times));

it("gives the text of a body however it was cut into chunks", () => {
  fc.assert(
    fc.property(
      text,
      fc.array(length, { minLength: 1, maxLength: 6 }),
      fc.boolean(),
      (whole, lengths, sharesMemory) => {
        const found = decode(cut(whole, lengths, sharesMemory));
        expect(found.bytes).toBe(Buffer.byteLength(whole));
        expect(found.text === whole.replace(/^\uFEFF/, "")).toBe(true);
        expect(found.broken).toBeUndefined();
      },
    ),
    { numRuns: runs(400) },
  );
});

it("gives what has arrived, and what arrives after that too", () => {
  const body = new BodyChunks();
  for (const chunk of cut("one and ", [1, 3], false)) body.push(chunk);
  expect(body.decode().text).toBe("one and ");
  for (const chunk of cut("two", [1], false)) body.push(chunk);
  expect(body.decode().text).toBe("one and two");
});

it("gives the empty text where nothing has arrived, or only nothing", () => {
  expect(decode([])).toEqual({ bytes: 0, text: "" });
  expect(decode([new Uint8Array(), new Uint8Array()])).toEqual({ bytes: 0, text: "" });
});

it("copies no body of one chunk", () => {
  const body = new BodyChunks();
  const chunk = Uint8Array.of(0x61);
  body.push(chunk);
  chunk.fill(0x62);
  expect(body.decode().text).toBe("b");
});

it("says when the chunks together are not UTF-8", () => {
  expect(decode(cut("é", [1], false).slice(0, 1))).toMatchObject({ text: "\uFFFD", broken: "not-utf8" });
});

describe.runIf(isThorough)("the memory that a body of 4 MiB is kept in", () => {
  const size = 4 * 2 ** 20;

  it.each<[string, () => Iterable<Uint8Array>]>([
    ["chunks of one byte", () => pieces(65_536, () => 1)],
    ["chunks of 1,023 bytes", () => pieces(65_536, () => 1023)],
    ["chunks of 1 KiB, each read together with 63 KiB of something else", () => lonePieces(65_536, () => 1024)],
    ["one byte and 20 KiB by turns", () => lonePieces(65_536, (turn) => (turn % 2 === 0 ? 1 : 20_000))],
    [
      "one byte and 2 KiB by turns, each in memory of its own",
      () => lonePieces(2048, (turn) => (turn % 2 === 0 ? 1 : 2048)),
    ],
    ["chunks of just less than half of what was read", () => lonePieces(65_536, () => 32_767)],
    ["chunks of 64 KiB", () => lonePieces(65_536, () => 65_536)],
  ])("is at most twice its size: %s", (_, chunks) => {
    const before = memoryInUse();
    const body = new BodyChunks();
    for (const chunk of chunks()) {
      body.push(chunk);
      if (body.bytes >= size) break;
    }
    const kept = memoryInUse() - before;
    expect(body.bytes).toBeGreaterThanOrEqual(size);
    expect(kept / body.bytes).toBeLessThan(2.2);
    expect(body.decode().text).toHaveLength(body.bytes);
  });

  it("is a few kilobytes where the body is small", () => {
    const before = memoryInUse();
    const bodies = Array.from({ length: 500 }, () => new BodyChunks());
    for (const body of bodies) for (const chunk of cut("{}", [1], false)) body.push(chunk);
    expect((memoryInUse() - before) / bodies.length).toBeLessThan(16_000);
    expect(bodies.every(({ bytes }) => bytes === 2)).toBe(true);
  });

  /** One after another out of the same memory, as the chunks of one read come. */
  function* pieces(memory: number, length: (turn: number) => number): Iterable<Uint8Array> {
    for (let turn = 0; ; ) {
      const read = new Uint8Array(memory).fill(0x20);
      for (let start = 0; start + length(turn) <= memory; turn++) {
        const end = start + length(turn);
        yield read.subarray(start, end);
        start = end;
      }
    }
  }

  function* lonePieces(memory: number, length: (turn: number) => number): Iterable<Uint8Array> {
    for (let turn = 0; ; turn++) yield new Uint8Array(memory).fill(0x20).subarray(0, length(turn));
  }
});

/** After a garbage collection. */
function memoryInUse(): number {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}
