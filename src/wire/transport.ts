import type { Deadline, EndKind } from "../core/deadline.js";

/** One request as it goes over the wire, byte for byte. */
export interface WireRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Scheme, host and port: `https://host:8443`. */
  readonly origin: string;
  /** Path and query, encoded, as they stand in the request line. */
  readonly path: string;
  readonly headers: Record<string, string>;
  /** Sent as UTF-8. */
  readonly body: string | undefined;
  /** A response with more bytes than this, decoded, is cut off. */
  readonly maxResponseBytes: number;
  /** Whether it may be sent twice. Only for a GET. */
  readonly repeatable?: boolean;
}

/** Why the text of a response can't be used, although its status is known. `encoded` means that it can't be decoded. */
export type BrokenBody = "cut-short" | "too-large" | "not-utf8" | "encoded" | EndKind;

/** A response with a status. Without a status, `send` rejects. */
export interface WireResponse {
  readonly status: number;
  /** Names in lower case. Repeated headers are joined by a comma. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, as far as it arrived. */
  readonly text: string;
  readonly broken?: BrokenBody;
}

/** Sends requests, and owns the sockets that they go over. */
export interface Transport {
  /** The value of `accept-encoding` for requests of large responses. Absent if the transport sends its own. */
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

/**
 * A connection that failed before a status arrived. A call or a token request turns it into a public error. If the
 * deadline or the caller's signal ended it, it's an `Ended`.
 */
export class WireFailure extends Error {
  /** False only if certainly no byte of the request was written. */
  readonly sent: boolean;
  /** Whether a retry can't help, for example if the certificate isn't trusted or a proxy refuses. */
  readonly permanent: boolean;
  /** An error code such as `ECONNREFUSED`. Never a message, since messages hold addresses and bodies. */
  readonly reason: string;

  constructor(details: {
    readonly sent: boolean;
    readonly permanent?: boolean;
    readonly reason: string;
    readonly cause?: unknown;
  }) {
    super(details.reason, { cause: details.cause });
    this.name = "WireFailure";
    this.sent = details.sent;
    this.permanent = details.permanent ?? false;
    this.reason = details.reason;
  }
}

/** Newer Nodes have codes such as `ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE`. */
const isCode = /^(?:\w{1,64}|ERR_SSL_[\w/]{1,56})$/;

/** A code that may be shown, from the error, its cause, or else a name. */
export function reasonOf(error: unknown): string {
  const { code, name, cause } = Object(error);
  const found: unknown = [code, Object(cause).code, Object(cause).name, name].find(
    (value) => typeof value === "string" && isCode.test(value),
  );
  return typeof found === "string" ? found : "UNKNOWN";
}
