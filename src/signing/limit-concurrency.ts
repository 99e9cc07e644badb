/** Runs a piece of work as soon as there is room for it, and settles as it does. */
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

  // Who waited starts before this returns: were it started a tick later, a newcomer could find room and be earlier.
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
      // Async on its own, so that work which throws at once can't end before it has begun and pile up the stack.
      return await (async () => work())();
    } finally {
      leave();
    }
  }

  return (work) => new Promise((resolve) => enter(() => resolve(run(work))));
}
