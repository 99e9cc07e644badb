/** Ctrl-C, a service manager's request to end, or a window that was closed. */
export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/** From now on the first of these signals aborts, in place of ending the process at once; a second one ends it. */
export function interruption(): Interruption {
  const stop = new AbortController();
  const remove = (): void => {
    for (const name of signals) process.removeListener(name, onSignal);
  };
  const onSignal = (): void => {
    remove();
    stop.abort();
  };
  for (const name of signals) process.on(name, onSignal);
  return { signal: stop.signal, [Symbol.dispose]: remove };
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
