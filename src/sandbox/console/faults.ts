import type { OperationName } from "../../resources/catalogue.js";
import { refusalResponse, SandboxRefusal } from "../refusal.js";

/** What the console does to a request, and how it is shown. */
export const faultKinds = {
  lost: { order: "Lose the response", effect: "lose its response", shown: "response lost" },
  delay: { order: "Delay the response", effect: "wait for its response", shown: "response delayed" },
  unavailable: { order: "Respond with 503", effect: "get 503, and nothing is done", shown: "503" },
} as const;

export interface Fault {
  readonly kind: keyof typeof faultKinds;
  /** `any` is any operation. */
  readonly of: OperationName | "token" | "any";
  readonly delayMs: number;
}

/** Takes the armed fault that hits this request: the oldest that fits. */
export function takeFault(armed: Fault[], operation: OperationName | "token" | undefined): Fault | undefined {
  const isAny = operation !== undefined && operation !== "token";
  const index = armed.findIndex(({ of }) => of === operation || (of === "any" && isAny));
  return index < 0 ? undefined : armed.splice(index, 1)[0];
}

/** Responds as the fault says. If the response is lost or delayed, the work is done. */
export async function withFault(fault: Fault | undefined, respond: () => Promise<Response>): Promise<Response> {
  if (fault?.kind === "unavailable") {
    return refusalResponse(new SandboxRefusal("unavailable", "a fault of the console", 503));
  }
  const response = await respond();
  if (fault?.kind === "lost") return Response.error();
  if (fault?.kind === "delay") await new Promise((resolve) => setTimeout(resolve, fault.delayMs).unref());
  return response;
}
