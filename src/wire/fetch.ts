import type { Deadline } from "../core/deadline.js";
import { ConfigError } from "../core/errors.js";
import { Body } from "./response.js";
import {
  type BrokenBody,
  reasonOf,
  type Transport,
  WireFailure,
  type WireRequest,
  type WireResponse,
} from "./transport.js";

/** The part of `fetch` that the library needs. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/**
 * The transport over a `fetch` of the caller's, for MSW, browsers and edge runtimes.
 *
 * `fetch` doesn't tell when it sends the first byte, and the caller's own may repeat requests. So every failure after the
 * call counts as sent.
 */
export function fetchTransport(fetch: FetchLike): Transport {
  return {
    send: (request, deadline) => exchange(fetch, request, deadline),
    close: () => Promise.resolve(),
  };
}

async function exchange(fetch: FetchLike, request: WireRequest, deadline: Deadline): Promise<WireResponse> {
  deadline.assertMaySend();
  const abort = new AbortController();
  let stopListening: (() => void) | undefined;
  // Not every fetch respects its signal, so the races below settle without it.
  const ended = new Promise<never>((_, reject) => {
    stopListening = deadline.onEnd(() => {
      reject(deadline.failure(true));
      abort.abort();
    });
  });
  const body = new Body(request.maxResponseBytes);
  try {
    const response = await Promise.race([start(fetch, request, abort.signal), ended]);
    if (!isWebResponse(response)) {
      const message = "the fetch option must return a web Response, as the global fetch does and node-fetch doesn't";
      throw new ConfigError(message, { effect: "possible" });
    }
    if (response.redirected) throw new WireFailure({ sent: true, reason: "REDIRECTED_BY_FETCH" });
    const broken = await Promise.race([readBody(response.body, body), ended.catch(() => undefined)]);
    const decoded = body.text();
    const problem = (abort.signal.aborted ? deadline.ended : undefined) ?? broken ?? decoded.broken;
    if (problem !== undefined) abort.abort();
    return {
      // Browsers hide the status of a redirect that they don't follow.
      status: response.type === "opaqueredirect" ? 302 : response.status,
      headers: Object.fromEntries(response.headers),
      text: decoded.text,
      ...(problem && { broken: problem }),
    };
  } catch (error) {
    abort.abort();
    throw error;
  } finally {
    stopListening?.();
  }
}

/** A body of node-fetch isn't a web stream. */
function isWebResponse({ status, headers, body }: Partial<Response> = {}): boolean {
  const isBody = body === null || typeof body?.getReader === "function";
  return typeof status === "number" && headers !== undefined && isBody;
}

async function start(fetch: FetchLike, request: WireRequest, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(request.origin + request.path, {
      method: request.method,
      headers: request.headers,
      redirect: "manual",
      signal,
      ...(request.body && { body: request.body }),
    });
  } catch (error) {
    throw new WireFailure({ sent: true, reason: reasonOf(error) });
  }
}

/** Reads into `body`, which keeps its bytes if the reading breaks off. */
async function readBody(stream: ReadableStream<Uint8Array> | null, body: Body): Promise<BrokenBody | undefined> {
  const reader = stream?.getReader();
  if (reader === undefined) return undefined;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      if (!body.push(value)) return "too-large";
    }
  } catch {
    return "cut-short";
  }
}
