import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { Command } from "commander";
import { programOf, runCommandLine } from "../../src/cli/program.js";
import type { Terminal } from "../../src/cli/terminal.js";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

interface RunOptions {
  readonly stdin?: string | Uint8Array;
  readonly env?: object;
  readonly width?: number;
  readonly showsServiceText?: boolean;
  readonly stopped?: Promise<void>;
  readonly ask?: Terminal["ask"];
  /** Gets what is written at once. */
  readonly onText?: (name: "stdout" | "stderr", text: string) => void;
}

export function terminalOf(more: RunOptions = {}) {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(more.stdin ?? "");
  return {
    ...{ stdin, stdout, stderr, env: { ...more.env }, hasColors: false, width: more.width, ask: more.ask },
    showsServiceText: more.showsServiceText ?? false,
    untilStopped: () => more.stopped ?? new Promise<void>(() => {}),
  };
}

/** Runs a command line in this process. */
export async function run(line: readonly string[], more: RunOptions = {}): Promise<CommandResult> {
  const terminal = terminalOf(more);
  const { stdout, stderr } = terminal;
  const written = Promise.all([text(stdout), text(stderr)]);
  for (const [name, stream] of Object.entries({ stdout, stderr })) {
    stream.on("data", (bytes) => more.onText?.(name as "stdout" | "stderr", String(bytes)));
  }
  const code = await runCommandLine(line, terminal);
  stdout.end();
  stderr.end();
  const [out, err] = await written;
  return { code, stdout: out, stderr: err };
}

/** What a command wrote as NDJSON. */
export function recordsIn(ndjson: string) {
  return ndjson
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line));
}

/** The words of each command that does something. */
export function commandPaths(parent: Command = programOf(terminalOf()), words: readonly string[] = []): string[] {
  const visible = parent.createHelp().visibleCommands(parent);
  return visible.flatMap((one) => {
    const path = [...words, one.name()];
    return one.commands.length === 0 ? [path.join(" ")] : commandPaths(one, path);
  });
}
