import type { Deadline } from "../core/deadline.js";
import { ConfigError } from "../core/errors.js";
import { BodyChunks } from "./body-chunks.js";
import type { BrokenBody, Transport, WireRequest, WireResponse } from "./transport.js";
import { isStatus, reasonOf, WireFailure } from "./wire-failure.js";

/** The part of `fetch` that the library needs. */
export type FetchLike = (url: string, init: RequestInit) => Promise<Response>;

/**
 * The transport over a `fetch` of the caller's: for MSW, browsers and edge runtimes.
 *
 * A fetch does not tell when the first byte leaves, and one that is handed in may repeat requests by itself. So whatever
 * fails after it was called counts as sent.
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
  // Not every fetch respects its signal: the races below settle whatever it does.
  const ended = new Promise<never>((_, reject) => {
    stopListening = deadline.onEnd(() => {
      reject(deadline.failure(true));
      abort.abort();
    });
  });
  try {
    const starting = start(fetch, request, abort.signal);
    starting.then((late) => abort.signal.aborted && discard(late.body)).catch(() => {});
    const response = await Promise.race([starting, ended]);
    if (!isWebResponse(response)) throw noWebResponse();
    if (wasRedirected(response, request)) {
      discard(response.body);
      throw new WireFailure({ sent: true, reason: "REDIRECTED_BY_FETCH" });
    }
    const chunks = new BodyChunks();
    const reading = readBody(response.body, request.maxResponseBytes, chunks, abort.signal);
    const broken = await Promise.race([reading, ended.catch(() => undefined)]);
    const decoded = chunks.decode();
    const problem = (abort.signal.aborted ? deadline.ended : undefined) ?? broken ?? decoded.broken;
    return {
      // A browser shows nothing of a redirect that it does not follow, not even its status.
      status: response.type === "opaqueredirect" ? 302 : response.status,
      headers: Object.fromEntries(response.headers),
      text: decoded.text,
      ...(problem === undefined ? undefined : { broken: problem }),
    };
  } finally {
    stopListening?.();
  }
}

/** Whether it has what is read of a `Response`. That of node-fetch has a body that is no web stream; mocks lack more. */
function isWebResponse(value: unknown): boolean {
  const { status, headers, body } = Object(value) as Partial<Response>;
  const hasHeaders = typeof headers?.[Symbol.iterator] === "function";
  return isStatus(status) && hasHeaders && (body === null || typeof body?.getReader === "function");
}

/** A new one for each call, since flows add facts to theirs. The request was sent, so a payment may have been made. */
function noWebResponse(): ConfigError {
  const message = "the fetch option must return a web Response, as the global fetch does; that of node-fetch is none";
  return new ConfigError(message, { effect: "possible" });
}

async function start(fetch: FetchLike, request: WireRequest, signal: AbortSignal): Promise<Response> {
  try {
    return await fetch(request.origin + request.path, {
      method: request.method,
      headers: request.headers as Record<string, string>,
      redirect: "manual",
      signal,
      ...(request.body === undefined ? undefined : { body: request.body as Uint8Array<ArrayBuffer> }),
    });
  } catch (error) {
    throw new WireFailure({ sent: true, reason: reasonOf(error) });
  }
}

/** Whether the fetch followed a redirect although it was told not to. Mocks have no address. */
function wasRedirected({ redirected, url }: Response, { origin }: WireRequest): boolean {
  return redirected || (URL.canParse(url) && new URL(url).origin !== origin);
}

/** Reads into `chunks`, which hold what came even where the reading breaks off. */
async function readBody(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  chunks: BodyChunks,
  signal: AbortSignal,
): Promise<BrokenBody | undefined> {
  const reader = body?.getReader();
  if (reader === undefined) return undefined;
  signal.addEventListener("abort", () => discard(reader));
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      if (chunks.bytes + value.byteLength > maxBytes) {
        discard(reader);
        return "too-large";
      }
      chunks.push(value);
    }
  } catch {
    return "cut-short";
  }
}

/** Cancels a body that nobody reads: left alone, it would keep its socket. One of the caller's own can do anything. */
function discard(body: { cancel(): unknown } | null): void {
  try {
    Promise.resolve(body?.cancel()).catch(() => {});
  } catch {}
}
