import { MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { checkHistory, describeUnexplained } from "../../../src/testing/history/check-history.js";
import { seededRandom } from "../../faults/seeded-random.js";
import { compete, distant } from "./compete.js";
import { defective, defectNames } from "./defects.js";

it.each(defectNames)("finds %s, and names few operations", async (defect) => {
  const random = seededRandom(1);
  const journal = distant(defective(new MemoryJournal(), defect), random);
  const operations = await compete(journal, { clients: 6, operationsEach: 150, random });
  const { unexplained } = checkHistory(operations);
  expect(unexplained).not.toEqual([]);
  for (const one of unexplained) {
    expect(one.operations.length).toBeGreaterThan(0);
    expect(one.operations.length).toBeLessThanOrEqual(8);
    expect(describeUnexplained(one)).toContain("no order of its operations explains");
  }
});

it("finds nothing in a journal that keeps the laws", async () => {
  const random = seededRandom(2);
  const operations = await compete(distant(new MemoryJournal(), random), { clients: 8, operationsEach: 200, random });
  expect(checkHistory(operations)).toMatchObject({ operations: 1600, unknown: 0, unexplained: [] });
});
