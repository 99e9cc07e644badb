import type { Reporter } from "../events/reporter.js";

/** What a `PaymentFlow` is asked to do for a key. */
export type FlowOperation =
  | "run"
  | "quote"
  | "confirm"
  | "cancel"
  | "resolve"
  | "propose"
  | "approve"
  | "refuse"
  | "recover"
  | "work";

/** Does all that one of its methods does for one key, as one part of the work: whatever it calls and signs is a part of that. */
export function followFlow<Result extends { readonly status: string } | undefined>(
  reporter: Reporter,
  operation: FlowOperation,
  key: string,
  work: () => Promise<Result>,
): Promise<Result> {
  const part = () => ({
    name: "flow",
    kind: "internal" as const,
    attributes: { "cross_border.operation": `flow.${operation}`, "cross_border.flow.key": key },
  });
  return reporter.follow(part, async ({ note }) => {
    const result = await work();
    if (result !== undefined) note({ "cross_border.flow.to": result.status });
    return result;
  });
}
