import { PassThrough } from "node:stream";
import { text } from "node:stream/consumers";
import type { Command } from "../../src/cli/command.js";
import { commands } from "../../src/cli/commands.js";
import { runCommandLine } from "../../src/cli/run-command.js";
import type { Terminal } from "../../src/cli/terminal.js";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function run(
  line: readonly string[],
  more: {
    stdin?: string;
    env?: object;
    width?: number;
    showsServiceText?: boolean;
    of?: readonly Command[];
    stopped?: Promise<void>;
    ask?: Terminal["ask"];
    /** Gets what is written at once. */
    onText?: (name: "stdout" | "stderr", text: string) => void;
  } = {},
): Promise<CommandResult> {
  const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
  stdin.end(more.stdin ?? "");
  const written = Promise.all([text(stdout), text(stderr)]);
  for (const [name, stream] of Object.entries({ stdout, stderr })) {
    stream.on("data", (bytes) => more.onText?.(name as "stdout" | "stderr", String(bytes)));
  }
  const terminal = {
    stdin,
    stdout,
    stderr,
    env: { ...more.env },
    hasColors: false,
    showsServiceText: more.showsServiceText ?? false,
    width: more.width,
    ask: more.ask,
    untilStopped: () => more.stopped ?? new Promise<void>(() => {}),
  };
  const code = await runCommandLine(more.of ?? commands, line, terminal);
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
