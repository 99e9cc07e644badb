import { setImmediate as turn } from "node:timers/promises";
import { expect, it, onTestFinished, vi } from "vitest";
import { handOut } from "../../src/reconcile/hand-out.js";

it("gives what the work gives, and lets it go on when the next one is asked for", async () => {
  const steps: string[] = [];
  const items = handOut<number>(async (give) => {
    for (const item of [1, 2]) {
      await give(item);
      steps.push(`went on after ${item}`);
    }
  });
  for await (const item of items) {
    await turn();
    steps.push(`has ${item}`);
  }
  expect(steps).toEqual(["has 1", "went on after 1", "has 2", "went on after 2"]);
});

it("throws where the work failed while an item was in use", async () => {
  const items = handOut<number>(async (give) => {
    void give(1);
    throw new Error("failed");
  });
  expect(await items.next()).toEqual({ done: false, value: 1 });
  await turn();
  await expect(items.next()).rejects.toThrow("failed");
});

it("leaves no failure behind that nobody asks for", async () => {
  const unhandled = vi.fn();
  process.on("unhandledRejection", unhandled);
  onTestFinished(() => void process.off("unhandledRejection", unhandled));
  const items = handOut<number>(async (give) => {
    void give(1);
    throw new Error("failed");
  });
  await items.next();
  await items.return();
  await turn();
  await turn();
  expect(unhandled).not.toHaveBeenCalled();
});
