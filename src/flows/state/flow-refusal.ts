import { ApiError } from "../../errors/errors.js";
import { isPassingStatus } from "../../wire/status.js";
import type { FlowRefusal } from "./flow-state.js";

/** What the service's refusal of a request says, in a response that says that nothing was done; `undefined` for any other failure. */
export function toFlowRefusal(error: unknown): FlowRefusal | undefined {
  if (!(error instanceof ApiError) || error.effect !== "none") return undefined;
  const { status, serviceCode, code, message } = error;
  if (status < 400 || status >= 500) return undefined;
  return { by: "service", status, code: serviceCode ?? code, message };
}

/** Whether the same request can succeed later: a token that is not valid (401) says nothing about it, nor do too many requests. */
export function isPassing({ status }: FlowRefusal): boolean {
  return status !== undefined && (status === 401 || isPassingStatus(status));
}
