import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { runTrials, summaryOf } from "./trials.js";

const trials = 2000;

it(`says nothing false, and repeats no payment, in ${trials} trials through the fault proxy`, async () => {
  const given = process.env.FAULT_SEED;
  const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
  const report = await runTrials({ trials, seed });
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
  // Trials in which nothing went wrong would prove nothing.
  const count = (end: string) => report.ends.get(end) ?? 0;
  expect(count("OutcomeUnknownError possible")).toBeGreaterThan(trials / 50);
  expect(count("UnexpectedResponseError done")).toBeGreaterThan(trials / 100);
  expect(count("well")).toBeGreaterThan(trials / 20);
}, 60_000);
