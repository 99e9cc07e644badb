import { decompression, openAgent } from "#platform";
import { clock } from "../core/clock.js";
import type { Deadline } from "../core/deadline.js";
import type { AgentOptions, UndiciAgent } from "../platform/undici-agent.js";
import type { Transport, WireRequest, WireResponse } from "./transport.js";
import { exchange, type Route } from "./undici-exchange.js";
import { WireFailure } from "./wire-failure.js";

/**
 * What is needed of an undici dispatcher, so that one of the caller's own copy of undici (7 or 8) fits: an `Agent`, a
 * `ProxyAgent`, a `MockAgent`.
 */
export interface DispatcherLike {
  dispatch(options: never, handler: never): boolean;
}

export function isDispatcher(value: unknown): value is DispatcherLike {
  return typeof Object(value).dispatch === "function";
}

export interface UndiciTransportOptions extends AgentOptions {
  /** Used instead of an agent of the client's own; closing it stays with its owner. */
  readonly dispatcher?: DispatcherLike | undefined;
}

/**
 * The transport over undici's `dispatch`.
 *
 * @param usedConnectionMs how long a read waits for the response of a used connection before it is sent on a new one.
 */
export function undiciTransport(options: UndiciTransportOptions, usedConnectionMs = 5000): Transport {
  let own: Promise<UndiciAgent> | undefined;
  let route: Route | undefined = options.dispatcher && {
    dispatcher: options.dispatcher as Route["dispatcher"],
    own: undefined,
    showsStart: Object(options.dispatcher).showsStart === true,
  };

  let firstByteMs = usedConnectionMs;
  const send = (to: Route, request: WireRequest, deadline: Deadline): Promise<WireResponse> => {
    const { own } = to;
    if (request.repeatable !== true || own === undefined) return exchange(to, request, deadline);
    const { reads } = own;
    return exchange(to, request, deadline, firstByteMs).catch(async (error: unknown) => {
      if (!(error instanceof WireFailure) || error.reason !== "UND_ERR_HEADERS_TIMEOUT") throw error;
      // The network may have dropped the connection silently, and all others of its age.
      own.replace(reads);
      const startMs = clock.monotonicMs();
      const response = await exchange(to, request, deadline);
      // If the service itself is slow, a new connection doesn't help.
      firstByteMs = Math.max(firstByteMs, 2 * (clock.monotonicMs() - startMs));
      return response;
    });
  };

  const open = async (): Promise<Route> => {
    if (route !== undefined) return route;
    own ??= openAgent(options).catch((error: unknown) => {
      own = undefined;
      throw error;
    });
    const agent = await own;
    route ??= { dispatcher: agent, own: agent, showsStart: true };
    return route;
  };

  return {
    get acceptEncoding() {
      return decompression?.accepted ?? "identity";
    },
    send(request, deadline) {
      if (route !== undefined) return send(route, request, deadline);
      return open().then((opened) => send(opened, request, deadline));
    },
    preload() {
      open().catch(() => {});
    },
    async close() {
      // An agent that could not be opened needs no closing.
      await (await own?.catch(() => undefined))?.close();
    },
  };
}
