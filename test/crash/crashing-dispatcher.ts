import { subscribe } from "node:diagnostics_channel";
import type { Dispatcher } from "undici";
import type { CrashPoints } from "./crash-points.js";

/**
 * A dispatcher with crash points around the request that pays: `dispatch:before-check` and `dispatch:after-check`, around the client's
 * last check, when nothing is written yet; `dispatch:sent` when the body was sent; `dispatch:first-byte` and `dispatch:response`.
 */
export function crashingDispatcher(
  dispatcher: Pick<Dispatcher, "dispatch">,
  points: CrashPoints,
): Pick<Dispatcher, "dispatch"> & { readonly showsStart: true } {
  subscribe("undici:request:bodySent", (message) => {
    // What undici publishes on this channel.
    const { request } = message as { readonly request: { method: string; path: string; body: Uint8Array | null } };
    if (isPayment(request) && request.body !== null) points.pass("dispatch:sent", keyOf(request.body));
  });
  return {
    showsStart: true,
    dispatch(options, handler) {
      if (!isPayment(options)) return dispatcher.dispatch(options, handler);
      return dispatcher.dispatch(options, crashing(handler, points, keyOf(options.body as string)));
    },
  };
}

function crashing(handler: Dispatcher.DispatchHandler, points: CrashPoints, key: string): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      points.pass("dispatch:before-check", key);
      handler.onRequestStart?.(controller, context);
      points.pass("dispatch:after-check", key);
    },
    onRequestUpgrade: (controller, status, headers, socket) =>
      handler.onRequestUpgrade?.(controller, status, headers, socket),
    onResponseStart(controller, status, headers, statusMessage) {
      points.pass("dispatch:first-byte", key);
      handler.onResponseStart?.(controller, status, headers, statusMessage);
    },
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd(controller, trailers) {
      points.pass("dispatch:response", key);
      handler.onResponseEnd?.(controller, trailers);
    },
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
  };
}

export function isPayment({ method, path }: { readonly method: string; readonly path: string }): boolean {
  return method === "POST" && path.endsWith("/payments");
}

export function keyOf(body: Uint8Array | string): string {
  const { memo }: { memo?: string } = JSON.parse(Buffer.from(body).toString());
  return memo ?? "";
}
