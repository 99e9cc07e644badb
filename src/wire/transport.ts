import type { Deadline, EndKind } from "../core/deadline.js";

/** One request as it goes over the wire, byte for byte. */
export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Scheme, host and port: `https://host:8443`. */
  readonly origin: string;
  /** Path and query, encoded, as they stand in the request line. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array | undefined;
  /** A response with more bytes than this, decoded, is cut off. */
  readonly maxResponseBytes: number;
  /** Whether it may be sent twice. Only for a GET. */
  readonly repeatable?: boolean;
}

/** Why the text of a response can't be used, although its status is known. `encoded`: its content codings can't be undone. */
export type BrokenBody = "cut-short" | "too-large" | "not-utf8" | "encoded" | EndKind;

/** A response with a status. Without a status, `send` rejects. */
export interface WireResponse {
  readonly status: number;
  /** Names in lower case; repeated headers are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, as far as it arrived. */
  readonly text: string;
  readonly broken?: BrokenBody;
}

/** Sends requests, and owns the sockets that they go over. */
export interface Transport {
  /** The value of `accept-encoding` for requests whose responses are large. Absent if the transport sends its own. */
  readonly acceptEncoding?: string | undefined;
  /**
   * Sends one request. Follows no redirect, repeats only what is `repeatable`, and settles when the deadline ends.
   *
   * @throws {WireFailure | Ended} if no status arrived. `sent` is false only if certainly no byte was written.
   */
  send(request: WireRequest, deadline: Deadline): Promise<WireResponse>;
  /** Starts loading the libraries of the first request. Opens nothing, and never throws. */
  preload?(): void;
  close(): Promise<void>;
}
