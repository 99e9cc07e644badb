import { expect, it } from "vitest";
import { isThorough } from "../support/thorough.js";
import { playLimitMs } from "./calls.js";
import { runFlowMatrix } from "./flow-matrix.js";

it(
  "pays once at most, and ends each flow truly, whatever fault a request of it meets",
  async () => {
    const { violations, ends } = await runFlowMatrix(isThorough);
    expect(violations).toEqual([]);
    // Flows that all end in one way prove little.
    expect(Object.keys(ends).sort()).toEqual(expect.arrayContaining(["held", "paid", "rejected"]));
  },
  playLimitMs,
);
