import { ApiError } from "../errors/errors.js";
import type { FlowRefusal } from "./flow-state.js";

/**
 * What the service's refusal of this very request says; `undefined` for any other failure. A token that is not valid (401) and too
 * many requests (429) say nothing about the request.
 */
export function toFlowRefusal(error: unknown): FlowRefusal | undefined {
  if (!(error instanceof ApiError) || error.effect !== "none") return undefined;
  const { status, serviceCode, code, message } = error;
  if (status < 400 || status >= 500 || status === 401 || status === 429) return undefined;
  return { by: "service", status, code: serviceCode ?? code, message };
}
