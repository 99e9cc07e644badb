import { isBrowser, openAgent } from "#platform";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, parseOptions } from "../core/parse.js";
import { type FetchLike, fetchTransport } from "./fetch.js";
import type { Transport } from "./transport.js";
import { type UndiciTransportOptions, undiciTransport } from "./undici.js";

export interface TransportOptions extends UndiciTransportOptions {
  /** If given, it sends every request. */
  readonly fetch?: FetchLike | undefined;
  /** Named first in the `User-Agent` of every request. */
  readonly appInfo?: AppInfo | undefined;
}

/** Whether the platform may send a request twice. The caller's own `fetch` or dispatcher must not. */
export function maySendTwice({ fetch, dispatcher }: Pick<TransportOptions, "fetch" | "dispatcher">): boolean {
  return isBrowser && (fetch ?? dispatcher) === undefined;
}

/** A transport over the caller's `fetch` or dispatcher, or else over undici, or the platform's `fetch` on the web. */
export function openTransport({ appInfo, ...options }: TransportOptions): Transport {
  const transport = bareTransport(options);
  return appInfo === undefined && isBrowser ? transport : withUserAgent(transport, appInfo);
}

function bareTransport({ fetch, ...options }: TransportOptions): Transport {
  if (fetch !== undefined) return fetchTransport(fetch === globalThis.fetch ? platformFetch : fetch);
  if (options.dispatcher === undefined && openAgent === undefined) return fetchTransport(platformFetch);
  return undiciTransport(options);
}

/** Looked up for each request, since programs replace it to trace or to mock. */
const platformFetch: FetchLike = (url, init) => globalThis.fetch(url, init);

/** The program that uses the client, for the service's logs. */
export interface AppInfo {
  /** Letters, digits, and characters such as `-` and `.`: `school-fees`. */
  readonly name: string;
  /** The same characters: `2.4.1`. */
  readonly version: string;
}

const token = {
  // RFC 9110, section 5.6.2.
  accepts: (value: unknown) => typeof value === "string" && /^[\w!#$%&'*+.^`|~-]{1,100}$/.test(value),
  expected: "up to 100 letters, digits and characters such as - and .",
  isRequired: true,
} as const;

const appInfo: CheckTable<AppInfo> = { name: token, version: token };

/** @throws {ConfigError} that names what is wrong. */
export function parseAppInfo(given: unknown, owner = ""): AppInfo {
  return parseOptions(appInfo, given, "it", (message) => new ConfigError(`${owner}appInfo: ${message}`));
}

/** The transport, with a `User-Agent` on each request. The caller's own header stays. */
export function withUserAgent(transport: Transport, app: AppInfo | undefined): Transport {
  const own = `cross-border-payments/${version}`;
  const agent = app === undefined ? own : `${app.name}/${app.version} ${own}`;
  return {
    ...transport,
    send(request, deadline) {
      request.headers["user-agent"] ??= agent;
      return transport.send(request, deadline);
    },
  };
}

/** The version in package.json. `npm run release` sets both, since bundles can't read the file. */
export const version: string = "0.4.0";
