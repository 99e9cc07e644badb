import { expect, it, vi } from "vitest";
import { ConfigError } from "../../src/errors/errors.js";
import type { FlowEvent } from "../../src/events/flow-event.js";
import { createReporter } from "../../src/events/reporter.js";
import { readFlowHooks } from "../../src/flows/flow-events.js";

const event: FlowEvent = { key: "order-1", from: "claimed", to: "paid", durationMs: 3, attempt: 1 };

it("passes events and errors to the hooks, as methods of their object", () => {
  const seen: unknown[] = [];
  const on = {
    seen,
    flow(given: FlowEvent) {
      this.seen.push(given);
    },
    error(given: unknown) {
      this.seen.push(given);
    },
  };
  const { seen: _, ...hooks } = on;
  expect(hooks).toBeDefined();
  const read = readFlowHooks(Object.create(on, { flow: { value: on.flow }, error: { value: on.error } }));
  const error = new Error("the journal is away");
  const reporter = createReporter([read]);
  reporter.emit("flow", event);
  reporter.emit("error", error);
  expect(seen).toEqual([event, error]);
});

it("does nothing without hooks", () => {
  const reporter = createReporter([readFlowHooks({})]);
  expect([reporter.wants("flow"), reporter.wants("error")]).toEqual([false, false]);
  expect(() => reporter.emit("flow", event)).not.toThrow();
  expect(() => reporter.emit("error", event)).not.toThrow();
});

it("swallows what a hook throws or rejects with", async () => {
  const unhandled = vi.fn();
  process.once("unhandledRejection", unhandled);
  const thrown = new Error("a hook's mistake");
  const throwing = () => {
    throw thrown;
  };
  createReporter([{ flow: throwing }, { flow: () => Promise.reject(thrown) }]).emit("flow", event);
  await new Promise((resolve) => setImmediate(resolve));
  process.off("unhandledRejection", unhandled);
  expect(unhandled).not.toHaveBeenCalled();
});

it.each([
  [{ flows: () => {} }, /no hook on\.flows; there are flow, error/],
  [{ flow: "log" }, /on\.flow must be a function/],
] as const)("refuses hooks that are not there or no functions: %o", (on, message) => {
  expect(() => readFlowHooks(on as never)).toThrow(ConfigError);
  expect(() => readFlowHooks(on as never)).toThrow(message);
});
