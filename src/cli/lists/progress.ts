import { counted } from "../../errors/counted.js";
import type { Terminal } from "../terminal.js";

export interface ProgressLine {
  show(count: number): void;
  end(): void;
}

/** A line on the terminal while records go elsewhere: how many there are, and how many come in a second. */
export function showProgress({ stderr, showsProgress }: Terminal): ProgressLine {
  if (!showsProgress) return { show: () => {}, end: () => {} };
  const startMs = performance.now();
  let shownMs = Number.NEGATIVE_INFINITY;
  let last = 0;
  const write = () => {
    const rate = Math.round((last * 1000) / Math.max(1, performance.now() - startMs));
    stderr.write(`\r${counted(last, "record")}, ${rate} a second\x1b[K`);
  };
  return {
    show(count) {
      last = count;
      if (performance.now() - shownMs < 100) return;
      shownMs = performance.now();
      write();
    },
    end() {
      write();
      stderr.write("\n");
    },
  };
}
