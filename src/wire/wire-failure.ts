/**
 * A connection that failed before a status arrived. Internal: a call or a token request turns it into a public error. (What
 * the deadline or the caller's signal ends is `Ended`.)
 */
export class WireFailure extends Error {
  /** False only where it is certain that no byte of the request was written. */
  readonly sent: boolean;
  /** Trying again can't help: an untrusted certificate, a TLS version that is not supported. */
  readonly permanent: boolean;
  /** An error code such as `ECONNREFUSED`. Never a message: messages carry addresses and bodies. */
  readonly reason: string;

  constructor(details: { readonly sent: boolean; readonly permanent?: boolean; readonly reason: string }) {
    super(details.reason);
    this.name = "WireFailure";
    this.sent = details.sent;
    this.permanent = details.permanent ?? false;
    this.reason = details.reason;
  }
}

/** A code that may be shown: the error's `code`, or else its name. */
export function reasonOf(error: unknown): string {
  if (typeof error !== "object" || error === null) return "UNKNOWN";
  try {
    for (const key of ["code", "name"]) {
      const value: unknown = Reflect.get(error, key);
      if (typeof value === "string" && /^\w{1,64}$/.test(value)) return value;
    }
  } catch {
    // A getter, or a proxy, of whoever threw it.
  }
  return "UNKNOWN";
}

/** Whether it is a status of HTTP. A `fetch` or a dispatcher of the caller's can give anything for one. */
export function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) < 1000;
}
