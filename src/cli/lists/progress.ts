import { counted } from "../../errors/counted.js";
import { clock } from "../../timing/clock.js";
import type { Terminal } from "../terminal.js";

export interface ProgressLine {
  show(count: number): void;
  end(): void;
}

/** A line on the terminal while records go elsewhere: how many there are, and how many come in a second. */
export function showProgress({ stderr, showsProgress }: Terminal): ProgressLine {
  if (!showsProgress) return { show: () => {}, end: () => {} };
  const startMs = clock.monotonicMs();
  let shownMs = Number.NEGATIVE_INFINITY;
  let last = 0;
  const write = () => {
    const rate = Math.round((last * 1000) / Math.max(1, clock.monotonicMs() - startMs));
    stderr.write(`\r${counted(last, "record")}, ${rate} a second\x1b[K`);
  };
  return {
    show(count) {
      last = count;
      if (clock.monotonicMs() - shownMs < 100) return;
      shownMs = clock.monotonicMs();
      write();
    },
    end() {
      write();
      stderr.write("\n");
    },
  };
}
