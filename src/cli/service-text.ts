import { ApiError, TokenError } from "../core/errors.js";
import { printable } from "./printable.js";
import { clipped } from "./text-width.js";

/**
 * What the service, or the identity provider, said itself about a failure; empty where that is nothing. It may hold names and account
 * numbers, so it is for the person at the terminal, and not for logs.
 */
export function serviceText(error: unknown): string {
  if (!(error instanceof ApiError || error instanceof TokenError)) return "";
  const texts = [error.serviceCode, error.serviceMessage].filter((text) => text !== undefined && text !== "");
  return clipped(printable(texts.join(": ")), longestText);
}

const longestText = 500;
