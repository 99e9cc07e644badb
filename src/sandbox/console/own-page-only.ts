/** Where the console is, on the sandbox's server. */
export const consolePath = "/console/";

/** Header that the console's page puts on whatever changes something. No other page can, without asking in a preflight. */
export const pageHeader = "x-sandbox-console";

export interface ConsoleRequest {
  readonly method: string;
  /** The path without its query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Uint8Array;
  /** Where the connection arrived. */
  readonly localAddress: string;
  readonly localPort: number;
}

/**
 * Why the console does not take a request, or nothing where it may have come from the console's own page, or from a program of the
 * same machine.
 *
 * A page of a foreign host that a resolver leads here (DNS rebinding) has that host's name in `Host`. A page of another origin, one on
 * another port of the same machine too, is betrayed by `Origin` and `Sec-Fetch-Site`, and can't set the header.
 */
export function whyRefused({ method, path, headers, localAddress, localPort }: ConsoleRequest): string | undefined {
  const host = headers.get("host") ?? "";
  if (!hostsOf(localAddress, localPort).includes(host)) {
    return `the console is at ${hostsOf(localAddress, localPort).join(" and ")} only, not at the host that was asked for`;
  }
  const isPage = method === "GET" && path === consolePath;
  const site = headers.get("sec-fetch-site") ?? "none";
  if (!isPage && site !== "same-origin" && site !== "none") return "the request comes from another site's page";
  if (method === "GET" || method === "HEAD") return undefined;
  const origin = headers.get("origin");
  if (origin !== null && origin !== `http://${host}`) return "the request comes from another origin's page";
  if (!headers.has(pageHeader)) return `the header ${pageHeader} is missing`;
  return undefined;
}

function hostsOf(address: string, port: number): string[] {
  const names = ["localhost", address.includes(":") ? `[${address}]` : address];
  return names.flatMap((name) => (port === 80 ? [`${name}:80`, name] : [`${name}:${port}`]));
}
