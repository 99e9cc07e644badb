interface FanOut {
  readonly listeners: Set<() => void>;
  readonly listener: () => void;
}

/** The signals in use. Each has one listener: Node warns of a leak if a signal has more than ten. */
const fanOuts = new Map<AbortSignal, FanOut>();

/** Calls `listener` when the signal aborts. The function that it returns removes the listener. */
export function onAbort(signal: AbortSignal, listener: () => void): () => void {
  const fanOut = fanOuts.get(signal) ?? open(signal);
  fanOut.listeners.add(listener);
  return () => {
    if (!fanOut.listeners.delete(listener) || fanOut.listeners.size > 0) return;
    fanOuts.delete(signal);
    try {
      signal.removeEventListener("abort", fanOut.listener);
    } catch {
      // A signal of the caller's own making: what has been done must not be lost over it.
    }
  };
}

function open(signal: AbortSignal): FanOut {
  const listeners = new Set<() => void>();
  const fanOut = { listeners, listener: () => listeners.forEach((one) => void one()) };
  signal.addEventListener("abort", fanOut.listener);
  fanOuts.set(signal, fanOut);
  return fanOut;
}
