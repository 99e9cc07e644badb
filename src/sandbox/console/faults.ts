import { refusalResponse, SandboxRefusal } from "../responses.js";
import type { SandboxRequest } from "../sandbox-options.js";
import type { ArmedFault, FaultKind } from "./console-state.js";

/** A fault that waits for its requests. */
export type FaultOrder = Omit<ArmedFault, "id">;

/** The faults that were ordered and have not hit yet. A request is hit by one of them at most: the oldest that fits. */
export class Faults {
  #armed: ArmedFault[] = [];
  #lastId = 0;

  get armed(): readonly ArmedFault[] {
    return this.#armed;
  }

  /** More than `mostFaults` at a time push the oldest out. */
  arm(order: FaultOrder): void {
    this.#lastId += 1;
    this.#armed = [...this.#armed, { ...order, id: String(this.#lastId) }].slice(-mostFaults);
  }

  cancel(id: string): void {
    this.#armed = this.#armed.filter((fault) => fault.id !== id);
  }

  /** The fault that hits this request, which then has hit once more. */
  take({ operation }: SandboxRequest): ArmedFault | undefined {
    const fault = this.#armed.find(({ of }) => of === operation || (of === "operations" && isOfService(operation)));
    if (fault === undefined) return undefined;
    this.#armed = this.#armed.flatMap((armed) => {
      if (armed !== fault) return [armed];
      return fault.times > 1 ? [{ ...fault, times: fault.times - 1 }] : [];
    });
    return fault;
  }
}

const mostFaults = 50;

function isOfService(operation: string | undefined): boolean {
  return operation !== undefined && operation !== "token";
}

/** Does what is asked for as the fault wants it. */
export async function withFault(
  fault: Pick<ArmedFault, "kind" | "delayMs"> | undefined,
  respond: () => Promise<Response>,
): Promise<Response> {
  return fault === undefined ? respond() : effects[fault.kind](respond, fault.delayMs);
}

type Effect = (respond: () => Promise<Response>, delayMs: number) => Promise<Response>;

const effects: Readonly<Record<FaultKind, Effect>> = {
  // The work is done, and nobody hears of it.
  lost: async (respond) => {
    await respond();
    return Response.error();
  },
  delay: async (respond, delayMs) => {
    const response = await respond();
    await new Promise((resolve) => setTimeout(resolve, delayMs).unref());
    return response;
  },
  unavailable: async () =>
    refusalResponse(new SandboxRefusal("unavailable", "the console was told to refuse this request", 503), undefined),
};
