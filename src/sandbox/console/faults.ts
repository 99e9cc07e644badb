import type { OperationName } from "../../resources/catalogue.js";
import { refusalResponse, SandboxRefusal } from "../refusal.js";

export type FaultKind = "lost" | "delay" | "unavailable";

export const faultKinds: ReadonlySet<string> = new Set<FaultKind>(["lost", "delay", "unavailable"]);

export interface Fault {
  readonly id: string;
  readonly kind: FaultKind;
  /** `any` is any operation. */
  readonly of: OperationName | "token" | "any";
  readonly times: number;
  readonly delayMs: number;
}

/** The armed faults. At most one of them hits a request: the oldest that fits. */
export class Faults {
  #armed: readonly Fault[] = [];
  #lastId = 0;

  get armed(): readonly Fault[] {
    return this.#armed;
  }

  arm(fault: Omit<Fault, "id">): void {
    this.#lastId += 1;
    this.#armed = [...this.#armed, { ...fault, id: String(this.#lastId) }];
  }

  cancel(id: string): void {
    this.#armed = this.#armed.filter((fault) => fault.id !== id);
  }

  /** @returns the fault that hits this request, which is then used up by one. */
  take(operation: OperationName | "token" | undefined): Fault | undefined {
    const fault = this.#armed.find(
      ({ of }) => of === operation || (of === "any" && operation !== undefined && operation !== "token"),
    );
    const used = (one: Fault) => (one === fault ? { ...one, times: one.times - 1 } : one);
    this.#armed = this.#armed.map(used).filter(({ times }) => times > 0);
    return fault;
  }
}

/** Responds as the fault says. A lost or delayed response is one to work that is done. */
export async function withFault(fault: Fault | undefined, respond: () => Promise<Response>): Promise<Response> {
  if (fault?.kind === "unavailable") {
    return refusalResponse(new SandboxRefusal("unavailable", "a fault of the console", 503));
  }
  const response = await respond();
  if (fault?.kind === "lost") return Response.error();
  if (fault?.kind === "delay") await new Promise((resolve) => setTimeout(resolve, fault.delayMs).unref());
  return response;
}
