import { spawn } from "node:child_process";
import type { Readable } from "node:stream";
import { json } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import { command } from "./program.js";

export interface TerminalResult {
  /** Nothing where a signal ended it. */
  readonly code: number | null;
  /** Its number. */
  readonly signal: number | null;
  /** Whether the terminal is as it was before. */
  readonly isRestored: boolean;
  /** Of each line that was shown, in cells. */
  readonly widths: readonly number[];
}

export type TerminalSession = ReturnType<typeof openTerminal>;

// Node takes a CI for a terminal of two colours, whatever TERM says.
const none = { NO_COLOR: undefined, FORCE_COLOR: undefined, CI: undefined };

/** Runs the command in a pseudo-terminal, as a person would. Whatever it is doing, it ends with the test. */
export function openTerminal(
  line: readonly string[],
  { columns = 100, env = {} }: { columns?: number; env?: Readonly<Record<string, string | undefined>> } = {},
) {
  const program = [process.execPath, command, ...line];
  const child = spawn("python3", ["test/support/pseudo-terminal.py", String(columns), ...program], {
    env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "", ...none, TERM: "xterm-256color", ...env },
    stdio: ["pipe", "pipe", "inherit", "pipe"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let shown = "";
  const waiting = new Set<() => void>();
  const [keys, screen, , facts] = child.stdio;
  if (!keys || !screen || !facts) throw new Error("the pseudo-terminal has no pipes");
  screen.setEncoding("utf8").on("data", (part: string) => {
    shown += part;
    for (const look of waiting) look();
  });
  const result = json(facts as Readable) as Promise<TerminalResult>;
  // A caller that never asks how it ended is not told of it.
  result.catch(() => {});
  return {
    /** As if typed. */
    send: (typed: string) => void keys.write(typed),
    end: () => void child.kill("SIGTERM"),
    shown: () => shown,
    /** Until this was shown. */
    until: (text: string) =>
      new Promise<void>((resolve, reject) => {
        const look = () => {
          if (!shown.includes(text)) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        const onEnd = () => reject(new Error(`it ended before it showed ${JSON.stringify(text)}: ${shown}`));
        result.then(onEnd, onEnd);
        look();
      }),
    result,
  };
}
