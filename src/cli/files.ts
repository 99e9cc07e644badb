import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { createInterface } from "node:readline";
import { buffer } from "node:stream/consumers";
import type { Terminal } from "./terminal.js";

/** The bytes of a file; `-` is what comes by `stdin`. */
export async function readBytes(path: string, terminal: Terminal): Promise<Uint8Array> {
  return path === "-" ? buffer(readStdin(terminal)) : readFile(path);
}

/** Whoever meant a pipe, and is at a terminal, would wait for a command that waits for them. */
function readStdin({ stdin, stderr, ask }: Terminal): Terminal["stdin"] {
  if (ask !== undefined) stderr.write("cross-border: reading what you type; Ctrl-D ends it\n");
  return stdin;
}

/** The text of a file, without the line break that editors put at its end. */
export async function readText(path: string, terminal: Terminal): Promise<string> {
  return Buffer.from(await readBytes(path, terminal))
    .toString("utf8")
    .trim();
}

/** The lines of a file, one after another; `-` is what comes by `stdin`. */
export async function* readLines(path: string, terminal: Terminal): AsyncGenerator<string, void> {
  const input = path === "-" ? readStdin(terminal) : createReadStream(path);
  // An error of the file itself is none of its lines.
  const failed = new Promise<never>((_, reject) => input.once("error", reject));
  failed.catch(() => {});
  const lines = createInterface({ input, crlfDelay: Number.POSITIVE_INFINITY })[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await Promise.race([lines.next(), failed]);
    if (done) return;
    yield value;
  }
}
