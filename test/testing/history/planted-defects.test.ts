import { MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { checkHistory, describeUnexplained } from "../../../src/testing/history/check-history.js";
import { seededRandom } from "../../faults/seeded-random.js";
import { compete, distant } from "./compete.js";
import { defective, defectNames } from "./defects.js";

it.each(defectNames)("finds %s, and names few operations", async (defect) => {
  // On a busy machine few operations meet.
  for (let seed = 1; seed <= 8; seed += 1) {
    const random = seededRandom(seed);
    const journal = distant(defective(new MemoryJournal(), defect), random);
    const operations = await compete(journal, { clients: 6, operationsEach: 150, random });
    const [first] = checkHistory(operations).unexplained.filter((each) => each.operations.length > 0);
    if (first === undefined) continue;
    expect(first.operations.length).toBeLessThanOrEqual(12);
    expect(describeUnexplained(first)).toContain("no order of its operations explains");
    return;
  }
  expect.unreachable("it was not found");
});

it("finds nothing in a journal that keeps the laws", async () => {
  const random = seededRandom(2);
  const operations = await compete(distant(new MemoryJournal(), random), { clients: 8, operationsEach: 200, random });
  expect(operations.length).toBeGreaterThan(1500);
  expect(checkHistory(operations)).toMatchObject({ unknown: 0, unexplained: [] });
});
