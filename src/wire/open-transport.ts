import { mayResendPosts, openAgent, sendsUserAgent } from "#platform";
import { type AppInfo, withUserAgent } from "./app-info.js";
import { type FetchLike, fetchTransport } from "./fetch-transport.js";
import type { Transport } from "./transport.js";
import { type UndiciTransportOptions, undiciTransport } from "./undici-transport.js";

export interface TransportOptions extends UndiciTransportOptions {
  /** If given, it sends every request. */
  readonly fetch?: FetchLike | undefined;
  /** Named first in the `User-Agent` of every request. */
  readonly appInfo?: AppInfo | undefined;
}

/** Whether the platform may send a request twice. The caller's own `fetch` or dispatcher must not. */
export function maySendTwice({ fetch, dispatcher }: Pick<TransportOptions, "fetch" | "dispatcher">): boolean {
  return mayResendPosts && (fetch ?? dispatcher) === undefined;
}

/** A transport over the caller's `fetch` or dispatcher, or else over undici, or the platform's `fetch` on the web. */
export function openTransport({ appInfo, ...options }: TransportOptions): Transport {
  const transport = bareTransport(options);
  return appInfo === undefined && !sendsUserAgent ? transport : withUserAgent(transport, appInfo);
}

function bareTransport({ fetch, ...options }: TransportOptions): Transport {
  if (fetch !== undefined) return fetchTransport(fetch === globalThis.fetch ? platformFetch : fetch);
  if (options.dispatcher === undefined && openAgent === undefined) return fetchTransport(platformFetch);
  return undiciTransport(options);
}

/** Looked up for each request, since programs replace it to trace or to mock. */
const platformFetch: FetchLike = (url, init) => globalThis.fetch(url, init);
