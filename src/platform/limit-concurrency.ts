/** Runs a piece of work as soon as there is room for it, and settles as the work does. */
export type Limited = <T>(work: () => Promise<T>) => Promise<T>;

interface Turn {
  readonly start: () => void;
  next?: Turn;
}

/**
 * At most `max` pieces of work at once, started in the order in which they came. Work that finds room starts at once,
 * in the caller's own tick.
 */
export function limitConcurrency(max: number): Limited {
  let running = 0;
  let first: Turn | undefined;
  let last: Turn | undefined;

  function enter(start: () => void): void {
    if (running < max) {
      running += 1;
      start();
      return;
    }
    const turn: Turn = { start };
    if (last === undefined) first = turn;
    else last.next = turn;
    last = turn;
  }

  // Waiting work starts before this returns: one tick later, newer work could overtake it.
  function leave(): void {
    const turn = first;
    if (turn === undefined) {
      running -= 1;
      return;
    }
    first = turn.next;
    if (first === undefined) last = undefined;
    turn.start();
  }

  async function run<T>(work: () => Promise<T>): Promise<T> {
    try {
      // In an async function: work that throws before it returns a promise would otherwise start the next work from here, and
      // the one after that, until the stack overflows.
      return await (async () => work())();
    } finally {
      leave();
    }
  }

  return (work) => new Promise((resolve) => enter(() => resolve(run(work))));
}
