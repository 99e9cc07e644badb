import { randomInt } from "node:crypto";
import { nodeWithSqlite } from "./node-with-sqlite.js";

/** What every run has to come to. */
export const kept = { paidTwice: 0, takenTwice: 0, releasedThoughPaid: 0, unsettled: 0, violations: [] };

const given = process.env.CBP_CRASH_SEED;
/** Of all random runs of a test file. */
export const seed = given === undefined ? randomInt(2 ** 31) : Number(given);

/** Both journals, with a Node that can open them. */
export const journals = [
  { kind: "sqlite", node: nodeWithSqlite(process.env.CBP_CRASH_NODE) },
  { kind: "postgres", node: process.execPath },
] as const;
