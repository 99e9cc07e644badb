import { expect, it } from "vitest";
import type { JournalEntry } from "../../src/flows/journal.js";
import { FlowTrace } from "./trace.js";

it("counts an owner's wait through what another owner of its process sends", () => {
  const trace = new FlowTrace({ leaseMs: 1000, lagMs: 1500 });
  const [claiming, looking] = [entryOf(1), entryOf(2)];
  const hand = (atMs: number, { epoch, nonce, revision }: JournalEntry, phase: string, claims: readonly object[]) =>
    trace.handed(
      atMs,
      { epoch, nonce, revision },
      { ...unsettled, phase, data: JSON.stringify({ state: { phase, claims } }) },
    );
  const claims = [{ epoch: 1, claimedAtMs: 0, sendByMs: 900 }];

  trace.begun(0, claiming, "process");
  hand(0, claiming, "claimed", claims);
  // The journal was restored meanwhile, and the same process takes the flow over.
  trace.acquired(100, looking, "process", true);
  trace.sent(200, "process");
  trace.looked(2600, "process");
  hand(2600, claiming, "paid", claims);
  hand(2600, looking, "paid", []);

  expect(trace.steps).toContainEqual({
    op: "look",
    looks: [
      { o: 1, waited: 1 },
      { o: 2, waited: 2 },
    ],
  });
});

const unsettled = { settled: false, evidence: "" };

function entryOf(epoch: number): JournalEntry {
  return { epoch, nonce: String(epoch), revision: 1, phase: "funds-requested", data: "" } as JournalEntry;
}
