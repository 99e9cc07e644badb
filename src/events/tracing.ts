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

/** What a propagator has put among the headers of a request, as far as HTTP allows it. */
export function traceHeaders(injected: Readonly<Record<string, unknown>>): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(injected)) {
    const isValid = /^[\w!#$%&'*+.^`|~-]+$/.test(name) && /^[\t\x20-\x7e]*$/.test(String(value));
    if (isValid) headers[name.toLowerCase()] = String(value);
  }
  return headers;
}

/** Where requests go, as OpenTelemetry names it. */
export function serverAttributes(origin: string): Attributes {
  const { hostname, port, protocol } = new URL(origin);
  return { "server.address": hostname, "server.port": Number(port) || (protocol === "https:" ? 443 : 80) };
}
