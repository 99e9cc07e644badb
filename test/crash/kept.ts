import { randomInt } from "node:crypto";

/** What every run must come to. */
export const kept = {
  paidTwice: 0,
  takenTwice: 0,
  releasedThoughPaid: 0,
  unsettled: 0,
  toldFalsely: 0,
  violations: [],
};

const given = process.env.CBP_CRASH_SEED;
/** Of all random runs of a test file. */
export const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
