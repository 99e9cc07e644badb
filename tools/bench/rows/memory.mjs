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

/** A reader keeps the id of each record that it handed out. */
export async function manyRecords({ node, server, millionRecords }) {
  const { heaps } = await probe(node, "memory-growth.mjs", ["records", server.origin, millionRecords], gc);
  const most = Math.max(...heaps);
  const bytes = most / millionRecords;
  return [
    {
      work: `live heap over ${millionRecords.toLocaleString("en")} records`,
      goal: "≤ 100 bytes a record",
      found: `at most ${mib(most)}, ${bytes.toFixed(0)} bytes a record`,
      met: bytes <= 100,
    },
  ];
}
