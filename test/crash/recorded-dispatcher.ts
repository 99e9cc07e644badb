import type { Dispatcher } from "undici";
import { isPayment, keyOf } from "./crashing-dispatcher.js";
import { headers, type NoteEvent } from "./flow-records.js";

/** Tells the service which process it is that asks, and notes each request that pays as it is about to be written. */
export function recordedDispatcher(
  dispatcher: Dispatcher,
  process: string,
  note: NoteEvent,
): Pick<Dispatcher, "dispatch"> {
  let sendings = 0;
  return {
    dispatch(options, handler) {
      const sending = `${process} ${++sendings}`;
      const named = { ...Object(options.headers), [headers.process]: process, [headers.sending]: sending };
      const { body } = options;
      const isSent = isPayment(options) && body instanceof Uint8Array;
      return dispatcher.dispatch(
        { ...options, headers: named },
        isSent ? noting(handler, () => note({ type: "sent", key: keyOf(body), process, sending })) : handler,
      );
    },
  };
}

function noting(handler: Dispatcher.DispatchHandler, sends: () => void): Dispatcher.DispatchHandler {
  return {
    onRequestStart(controller, context) {
      handler.onRequestStart?.(controller, context);
      if (!controller.aborted) sends();
    },
    onRequestUpgrade: (controller, status, headers, socket) =>
      handler.onRequestUpgrade?.(controller, status, headers, socket),
    onResponseStart: (controller, status, headers, message) =>
      handler.onResponseStart?.(controller, status, headers, message),
    onResponseData: (controller, chunk) => handler.onResponseData?.(controller, chunk),
    onResponseEnd: (controller, trailers) => handler.onResponseEnd?.(controller, trailers),
    onResponseError: (controller, error) => handler.onResponseError?.(controller, error),
  };
}
