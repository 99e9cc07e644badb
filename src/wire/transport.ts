import { WireFailure, type WireFailureKind } from "./wire-failure.js";

/** One request as it goes over the wire, byte for byte. */
export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT";
  /** Scheme, host and port: `https://host:8443`. */
  readonly origin: string;
  /** Path and query, encoded: what stands in the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** Responses with more bytes than this are cut off. */
  readonly maxResponseBytes: number;
  /** The last gate: called when the first byte is about to be written. When it throws, nothing is sent. */
  readonly beforeSend?: (() => void) | undefined;
}

/** Why the text of a response can't be used, although its status is known. */
export type BrokenBody = "cut-short" | "too-large" | "not-utf8" | "encoded" | WireFailureKind;

/** What came back: always with a status. An exchange without one rejects with a `WireFailure`. */
export interface WireResponse {
  readonly status: number;
  /** Names in lower case; repeated headers are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as far as it came. */
  readonly text: string;
  readonly broken?: BrokenBody;
}

/** What ends an exchange from outside: the call's deadline or its caller's signal. */
export interface Ending {
  /** Set once the call has ended. */
  readonly ended: WireFailureKind | undefined;
  /** Calls `listener` at the end; the function it returns takes the listener away. */
  onEnd(listener: (kind: WireFailureKind) => void): () => void;
}

/**
 * Sends one request and gives its response. Follows no redirect, repeats nothing, and settles at once when the call ends.
 *
 * @throws {WireFailure} when there is no status; its `sent` is false only where no byte was written for certain.
 */
export type Transport = (request: WireRequest, ending: Ending) => Promise<WireResponse>;

/** A transport and the sockets behind it. */
export interface TransportHandle {
  readonly send: Transport;
  /** Begins to load what the first request will need. Opens nothing, and never throws. */
  preload?(): void;
  close(): Promise<void>;
}

/** The whole of a body as text, without a byte order mark. */
export function decodeBody(chunks: readonly Uint8Array[]): { readonly text: string; readonly broken?: "not-utf8" } {
  const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : joined(chunks);
  try {
    return { text: strictUtf8.decode(bytes) };
  } catch {
    return { text: lenientUtf8.decode(bytes), broken: "not-utf8" };
  }
}

/** Where bodies that came in pieces are put together: new memory for a page of records would cost as much as its decoding. */
let workspace = new Uint8Array(0);
const mostKeptBytes = 4 * 2 ** 20;

/** All pieces in one. To be read before the next are joined: the memory is used again. */
function joined(chunks: readonly Uint8Array[]): Uint8Array {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  if (size > mostKeptBytes) return Buffer.concat(chunks);
  if (size > workspace.length) workspace = new Uint8Array(Math.min(2 * size, mostKeptBytes));
  let at = 0;
  for (const chunk of chunks) {
    workspace.set(chunk, at);
    at += chunk.length;
  }
  return workspace.subarray(0, size);
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder("utf-8");

/** The failure of a request that its own last gate held back. */
export function gateClosed(): WireFailure {
  return new WireFailure({ kind: "connection", sent: false, permanent: true, reason: "GATE_CLOSED" });
}

/** A code that may be shown: of an error only its `code`, else its name. */
export function reasonOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "UNKNOWN";
  for (const key of ["code", "name"]) {
    const value: unknown = Reflect.get(error, key);
    if (typeof value === "string" && /^\w{1,64}$/.test(value)) return value;
  }
  return "UNKNOWN";
}
