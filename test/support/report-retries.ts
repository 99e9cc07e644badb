import type { Reporter, TestCase } from "vitest/node";

/** Names each test that passed only when it was run again, so that a retry hides nothing. */
export default class ReportRetries implements Reporter {
  readonly #flaky: string[] = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#flaky.push(`${test.module.relativeModuleId}: ${test.fullName}`);
  }

  onTestRunEnd(): void {
    for (const name of this.#flaky) console.log(`passed only when it was run again: ${name}`);
  }
}
