/**
 * A connection that failed before a status arrived. Internal: a call or a token request turns it into a public error. (What
 * the deadline or the caller's signal ends is `Ended`.)
 */
export class WireFailure extends Error {
  /** False only where it is certain that no byte of the request was written. */
  readonly sent: boolean;
  /** Trying again can't help: an untrusted certificate, a TLS version that is not supported, a proxy that refuses. */
  readonly permanent: boolean;
  /** An error code such as `ECONNREFUSED`. Never a message: messages carry addresses and bodies. */
  readonly reason: string;
  /** Set where a proxy did not make the connection. */
  readonly proxy: ProxyRefusal | undefined;

  constructor(details: {
    readonly sent: boolean;
    readonly permanent?: boolean;
    readonly reason: string;
    readonly proxy?: ProxyRefusal | undefined;
  }) {
    super(details.reason);
    this.name = "WireFailure";
    this.sent = details.sent;
    this.permanent = details.permanent ?? false;
    this.reason = details.reason;
    this.proxy = details.proxy;
  }
}

/** What a proxy responded to CONNECT. */
export interface ProxyRefusal {
  /** Scheme, host and port of the proxy, never its user or password; undefined where that is not known. */
  readonly origin: string | undefined;
  readonly status: number;
}

/**
 * The proxy's refusal, where that is what undici's `ProxyAgent` failed with: it says so in words alone.
 *
 * @param dispatcher may say as `proxyOrigin` which proxy it goes by.
 */
export function proxyRefusalOf(error: unknown, dispatcher: unknown): ProxyRefusal | undefined {
  const status = /^Proxy response \((\d{3})\) !== 200 when HTTP Tunneling$/.exec(String(Object(error).message))?.[1];
  if (status === undefined) return undefined;
  const origin: unknown = Object(dispatcher).proxyOrigin;
  return { origin: typeof origin === "string" ? origin : undefined, status: Number(status) };
}

/** @param target origin to which the connection was wanted. */
export function describeProxyRefusal({ origin, status }: ProxyRefusal, target: string): string {
  const remedy =
    status === 407 ? "check the user and the password in the proxy's address" : "check which addresses it lets through";
  return `the proxy${origin === undefined ? "" : ` ${origin}`} made no connection to ${target} (${status}); ${remedy}`;
}

/** Newer Nodes have codes such as `ERR_SSL_SSL/TLS_ALERT_HANDSHAKE_FAILURE`. */
const isCode = /^(?:\w{1,64}|ERR_SSL_[\w/]{1,56})$/;

/** A code that may be shown: the error's `code`, that of its cause, or else a name. */
export function reasonOf(error: unknown): string {
  const { code, name, cause } = Object(error);
  const found: unknown = [code, Object(cause).code, Object(cause).name, name].find(
    (value) => typeof value === "string" && isCode.test(value),
  );
  return typeof found === "string" ? found : "UNKNOWN";
}

/**
 * What a message adds where a server closed the connection before it responded to anything. In TLS 1.3 a client hears in no other way that
 * the server wants a certificate of it.
 */
export function closingHint(origin: string, reason: string): string {
  const isLikely = origin.startsWith("https:") && /^(?:UND_ERR_SOCKET|ECONNRESET|EPIPE)$/.test(reason);
  return isLikely ? "; if the server wants a client certificate, give one as tls.cert and tls.key" : "";
}

/** Whether it is a status of HTTP. A `fetch` or a dispatcher of the caller's can give anything for one. */
export function isStatus(value: unknown): value is number {
  return Number.isInteger(value) && Number(value) < 1000;
}
