/** Ctrl-C, a service manager's request to end, or a window that was closed. */
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface Interruption extends Disposable {
  readonly signal: AbortSignal;
}

/** From now on the first of these signals aborts, in place of ending the process at once; a second one ends it. */
export function interruption(): Interruption {
  const stop = new AbortController();
  const listening = onFirstSignal(() => stop.abort());
  return { signal: stop.signal, [Symbol.dispose]: () => listening[Symbol.dispose]() };
}

/** Does `work` when one of these signals comes, which then ends the process as it would have without. */
export function beforeInterruption(work: () => void): Disposable {
  return onFirstSignal((name) => {
    work();
    process.kill(process.pid, name);
  });
}

function onFirstSignal(act: (name: NodeJS.Signals) => void): Disposable {
  const remove = (): void => {
    for (const name of signals) process.removeListener(name, onSignal);
  };
  const onSignal = (name: NodeJS.Signals): void => {
    remove();
    act(name);
  };
  for (const name of signals) process.on(name, onSignal);
  return { [Symbol.dispose]: remove };
}

/**
 * Resolves when the `npx` that started this process is gone: it does not pass signals on, so that ending it would leave this running.
 * Elsewhere never: a program may outlive the shell that started it.
 */
export function untilNpxEnds(env: Readonly<Record<string, string | undefined>>): Promise<void> {
  const { ppid } = process;
  return new Promise((resolve) => {
    if (env.npm_command !== "exec") return;
    const timer = setInterval(() => {
      if (process.ppid === ppid) return;
      clearInterval(timer);
      resolve();
    }, 250).unref();
  });
}
