export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>;

/** A part of the work of a client: a call, an attempt, a signature. */
export interface Part {
  /** Of few different values: no ids. */
  readonly name: string;
  /** `client` where a request leaves the process. */
  readonly kind: "internal" | "client";
  readonly attributes: Attributes;
}

/** A part that is under way. */
export interface Followed {
  /** Where it is false, nobody will ever know of this part, and those within it need not be followed. */
  readonly isSeen: boolean;
  /** Headers that tell the receiver of a request what it is a part of. */
  readonly headers: Readonly<Record<string, string>>;
  /** What became known of it. An `error.type` says that it failed. */
  note(attributes: Attributes): void;
}

/** Follows the work of a client, as the spans of OpenTelemetry do. */
export interface Tracing {
  /**
   * Does the work, as a part of what is done already; what the work begins is a part of it. The work starts before `follow` returns,
   * and its result is passed on as it is.
   */
  follow<T>(part: Part, work: (followed: Followed) => Promise<T>): Promise<T>;
}

/** Does the work, followed where anybody follows it. */
export function follow<T>(
  tracing: Tracing | undefined,
  part: () => Part,
  work: (followed: Followed) => Promise<T>,
): Promise<T> {
  return tracing === undefined ? work(unfollowed) : tracing.follow(part(), work);
}

const unfollowed: Followed = { isSeen: false, headers: {}, note: () => {} };

/**
 * What a propagator has put among the headers of a request, as far as it only names a trace: what HTTP does not allow is left out, and so
 * are fields that would change the request, and more text than servers take.
 */
export function traceHeaders(injected: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  let left = mostCharacters;
  for (const [name, value] of Object.entries(injected)) {
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name) || changesRequest.test(name)) continue;
    if (typeof value !== "string" || !/^[\t\x20-\x7e]*$/.test(value)) continue;
    left -= name.length + value.length;
    if (left < 0) break;
    headers[name.toLowerCase()] = value;
  }
  return headers;
}

/** W3C Baggage allows as much, and servers mostly take twice that for all headers together. */
const mostCharacters = 8192;

/** Fields by which HTTP, or something before the service, would do something else. */
const changesRequest = new RegExp(
  "^(?:accept|authorization|cookie|connection|content|expect|forwarded|from|host|http2|if|keep-alive|max-forwards|origin|pragma|cache|" +
    "prefer|proxy|range|referer|sec|set-cookie|te|trailer|transfer-encoding|upgrade|user-agent|via|" +
    "x-forwarded|x-http-method|x-method|x-original|x-real-ip|x-rewrite|x-service)(?:-|$)",
  "i",
);

/** Where requests go, as OpenTelemetry names it. */
export function serverAttributes(origin: string): Attributes {
  const { hostname, port, protocol } = new URL(origin);
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "https:" ? 443 : 80) };
}
