import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { TextDecoder } from "node:util";
import { InvalidArgumentError } from "../core/errors.js";
import type { Terminal } from "./terminal.js";

/** The bytes of a file; `-` is stdin. */
export async function readBytes(path: string, terminal: Terminal): Promise<Uint8Array> {
  return path === "-" ? buffer(readStdin(terminal)) : readFile(path);
}

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

/**
 * The lines of a file. Only line feeds end a line: JSON may hold U+2028, at which `node:readline` splits.
 *
 * @throws {InvalidArgumentError} if it isn't UTF-8.
 */
export async function* readLines(path: string, terminal: Terminal): AsyncGenerator<string, void> {
  const input = path === "-" ? readStdin(terminal) : createReadStream(path);
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const decode = (bytes?: Buffer): string => {
    try {
      return decoder.decode(bytes, { stream: bytes !== undefined });
    } catch (cause) {
      throw new InvalidArgumentError(`${path === "-" ? "stdin" : path} is not UTF-8`, { cause });
    }
  };
  let rest = "";
  for await (const bytes of input) {
    const lines = (rest + decode(bytes)).split("\n");
    rest = lines.pop() ?? "";
    yield* lines;
  }
  rest += decode();
  if (rest !== "") yield rest;
}
