import type { ServerResponse } from "node:http";

/** Aborts when the customer leaves before they have the response: in Express, and in Nest over Express. */
export function customerLeft(response: ServerResponse): AbortSignal {
  const left = new AbortController();
  response.once("close", () => {
    if (!response.writableFinished) left.abort();
  });
  return left.signal;
}
