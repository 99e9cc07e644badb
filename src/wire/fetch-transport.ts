import { type Deadline, Ended } from "../timing/deadline.js";
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
    if (wasRedirected(response, request)) {
      discard(response.body);
      throw new WireFailure({ sent: true, reason: "REDIRECTED_BY_FETCH" });
    }
    const chunks = new BodyChunks();
    const reading = readBody(response.body, request.maxResponseBytes, chunks, abort.signal);
    const broken = await Promise.race([reading, ended.catch(() => undefined)]);
    const decoded = chunks.decode();
    const problem = (abort.signal.aborted ? deadline.ended : undefined) ?? broken ?? decoded.broken;
    // A browser shows nothing of a redirect that it does not follow, not even its status.
    const status = response.type === "opaqueredirect" ? 302 : response.status;
    if (!isStatus(status)) throw new WireFailure({ sent: true, reason: "NO_STATUS" });
    return {
      status,
      headers: Object.fromEntries(response.headers),
      text: decoded.text,
      ...(problem === undefined ? undefined : { broken: problem }),
    };
  } catch (error) {
    throw toFailure(error);
  } finally {
    stopListening?.();
  }
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
    throw new WireFailure({ sent: true, reason: reasonOf(causeOf(error)) });
  }
}

/** A fetch of the caller's own can throw anything, even what refuses to be looked at. */
function toFailure(error: unknown): Error {
  try {
    if (error instanceof WireFailure || error instanceof Ended) return error;
  } catch {}
  return new WireFailure({ sent: true, reason: reasonOf(error) });
}

function causeOf(error: unknown): unknown {
  try {
    // Whatever it is: an error of another realm, as where Jest runs the tests, is no instance of this one's Error.
    return Object(error).cause ?? error;
  } catch {
    return error;
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
