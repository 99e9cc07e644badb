import { slope } from "../measure.mjs";
import { probe } from "../processes.mjs";

const mebibyte = 2 ** 20;
const mib = (bytes) => `${(bytes / mebibyte).toFixed(2)} MiB`;
const gc = { flags: ["--expose-gc"] };

export async function sequentialCalls({ node, server, calls }) {
  const { heaps, step } = await probe(node, "memory-growth.mjs", ["calls", server.origin, calls], gc);
  const growth = (slope(heaps) / step) * 100_000;
  return [
    {
      work: `${calls.toLocaleString("en")} sequential calls`,
      goal: "growth ≤ 1 MiB per 100,000",
      found: `${mib(growth)} per 100,000; ${heaps.map(mib).at(0)} after the first tenth, ${heaps.map(mib).at(-1)} at the end`,
      met: growth <= mebibyte,
    },
  ];
}

/** Flat: the last half's live heap is nowhere more than 1 MiB above the first half's highest. */
export async function manyRecords({ node, server, millionRecords }) {
  const { heaps } = await probe(node, "memory-growth.mjs", ["records", server.origin, millionRecords], gc);
  const first = Math.max(...heaps.slice(0, 5));
  const last = Math.max(...heaps.slice(5));
  return [
    {
      work: `live heap over ${millionRecords.toLocaleString("en")} records`,
      goal: "flat",
      found: `at most ${mib(first)} in the first half, ${mib(last)} in the second`,
      met: last <= first + mebibyte,
    },
  ];
}
