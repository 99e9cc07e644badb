import type { Reporter, TestCase } from "vitest/node";

/** Names each test that passed only when it was run again, and why, so that a retry hides nothing. */
export default class ReportRetries implements Reporter {
  readonly #flaky: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const reasons = test.result().errors?.map(({ message }) => `\n${message.slice(0, longest)}`) ?? [];
    this.#flaky.push(`${test.module.relativeModuleId}: ${test.fullName}${reasons.join("")}`);
  }

  onTestRunEnd(): void {
    for (const name of this.#flaky) console.log(`passed only when it was run again: ${name}`);
  }
}

/** Enough for a seed and what goes with it. */
const longest = 3000;
