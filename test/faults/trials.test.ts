import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { isThorough } from "../support/thorough.js";
import { runTrials, summaryOf } from "./trials.js";

const trials = isThorough ? 2000 : 500;

it(`says nothing false, and repeats no payment, in ${trials} trials through the fault proxy`, async () => {
  const given = process.env.FAULT_SEED;
  const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
  const ends = new Map<string, number>();
  // On a busy machine most calls only reach their deadline: then there are more trials, with fewer at once.
  for (const atOnce of [64, 16, 4]) {
    const report = await runTrials({ trials, seed, atOnce });
    process.stdout.write(`${summaryOf(report)}\nThe same plan again: FAULT_SEED=${seed}\n`);
    expect(report.faulty).toEqual({
      falseNone: 0,
      falseDone: 0,
      paymentsRepeated: 0,
      paymentsMadeTwice: 0,
      strangeResponses: 0,
      untypedErrors: 0,
      unhandledRejections: 0,
      late: 0,
    });
    for (const [end, count] of report.ends) ends.set(end, (ends.get(end) ?? 0) + count);
    if (wanted.every(([end, atLeast]) => (ends.get(end) ?? 0) >= atLeast)) return;
  }
  expect.fail(`trials in which nothing goes wrong, or everything does, prove nothing: ${JSON.stringify([...ends])}`);
});

/** How often calls have to end in these ways for the trials to prove something. */
const wanted: readonly (readonly [end: string, atLeast: number])[] = [
  ["OutcomeUnknownError possible", trials / 50],
  ["UnexpectedResponseError done", trials / 500],
  ["UnexpectedResponseError possible", trials / 100],
  ["well", trials / 20],
  // Too few of these end so for a small number of trials.
  ...(isThorough
    ? ([
        ["PermissionDeniedError possible", 1],
        ["ConflictError possible", 1],
      ] as const)
    : []),
];
