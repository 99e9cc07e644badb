/** How an exchange broke off. */
export type WireFailureKind = "connection" | "timeout" | "abort";

/**
 * An exchange over the wire that brought no status. Internal: it is translated into a public error, whose kind depends on
 * the operation, where it is caught.
 */
export class WireFailure extends Error {
  readonly kind: WireFailureKind;
  /** False only where it is certain that not one byte of the request was written. */
  readonly sent: boolean;
  /** Trying again can't help: a certificate that is not trusted, a TLS version that is not spoken. */
  readonly permanent: boolean;
  /** The code of what happened, such as `ECONNREFUSED`. Never a message: messages carry addresses and bodies. */
  readonly reason: string;

  constructor(details: {
    readonly kind: WireFailureKind;
    readonly sent: boolean;
    readonly permanent?: boolean;
    readonly reason: string;
  }) {
    super(details.reason);
    this.name = "WireFailure";
    this.kind = details.kind;
    this.sent = details.sent;
    this.permanent = details.permanent ?? false;
    this.reason = details.reason;
  }
}
