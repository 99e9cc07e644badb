/**
 * An undici dispatcher without sockets: it answers a moment later, out of memory. What is left is the client's own work.
 *
 * @param bodyOf the text that answers a request, and after how many ms: 0 is the end of this turn of the loop.
 */
export function memoryDispatcher(bodyOf) {
  const controller = { abort() {}, pause() {}, resume() {}, aborted: false, paused: false, reason: null };
  const headers = { "content-type": "application/json" };
  return {
    dispatch(options, handler) {
      const { bytes, delayMs = 0 } = bodyOf(options);
      const answer = () => {
        handler.onRequestStart(controller, {});
        handler.onResponseStart(controller, 200, headers, "OK");
        handler.onResponseData(controller, bytes);
        handler.onResponseEnd(controller, {});
      };
      if (delayMs === 0) setImmediate(answer);
      else setTimeout(answer, delayMs);
      return true;
    },
  };
}
