import { createReadStream } from "node:fs";
import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { TextDecoder } from "node:util";
import { InvalidArgumentError } from "../core/errors.js";
import type { Terminal } from "./terminal.js";

/** The bytes of a file; `-` is what comes by `stdin`. */
export async function readBytes(path: string, terminal: Terminal): Promise<Uint8Array> {
  return path === "-" ? buffer(readStdin(terminal)) : readFile(path);
}

/** At a terminal, somebody who meant a pipe would wait for a command that waits for them. */
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
 * The lines of a file, one after another; `-` is what comes by `stdin`. A line ends at a line feed, with or without a carriage return before
 * it, and nowhere else: JSON may hold every other line break as it is. The text is UTF-8, or UTF-16 that says so by its first character, as
 * PowerShell writes it.
 *
 * @throws {InvalidArgumentError} for another text, and for a line of more than 64 MiB.
 */
export async function* readLines(path: string, terminal: Terminal): AsyncGenerator<string, void> {
  const input = path === "-" ? readStdin(terminal) : createReadStream(path);
  const name = path === "-" ? "stdin" : path;
  const splitter = new LineSplitter(name);
  for await (const bytes of input) yield* splitter.push(bytes);
  yield* splitter.end();
}

class LineSplitter {
  readonly #name: string;
  #decoder: TextDecoder | undefined;
  #first = Buffer.alloc(0);
  /** The line that has begun. */
  #pieces: string[] = [];
  #length = 0;
  #lines = 0;

  constructor(name: string) {
    this.#name = name;
  }

  push(bytes: Buffer): string[] {
    if (this.#decoder !== undefined) return this.#split(this.#decode(bytes));
    this.#first = Buffer.concat([this.#first, bytes]);
    return this.#first.length < 2 ? [] : this.#split(this.#decode(this.#first));
  }

  end(): string[] {
    const lines = this.#split(this.#decode());
    return this.#length === 0 ? lines : [...lines, this.#pieces.join("")];
  }

  /** @param bytes undefined at the end, which must not be in the middle of a character. */
  #decode(bytes?: Buffer): string {
    const isFirst = this.#decoder === undefined;
    this.#decoder ??= new TextDecoder(encodingOf(this.#first), { fatal: true });
    const last = isFirst ? this.#first : undefined;
    try {
      return bytes === undefined ? this.#decoder.decode(last) : this.#decoder.decode(bytes, { stream: true });
    } catch (cause) {
      throw new InvalidArgumentError(`${this.#name} is not UTF-8, at line ${this.#lines + 1} or after it`, { cause });
    }
  }

  #split(text: string): string[] {
    const [first = "", ...others] = text.split("\n");
    this.#add(first);
    const lines: string[] = [];
    for (const piece of others) {
      lines.push(this.#pieces.join("").replace(/\r$/, ""));
      [this.#pieces, this.#length] = [[], 0];
      this.#add(piece);
    }
    this.#lines += lines.length;
    return lines;
  }

  #add(piece: string): void {
    this.#length += piece.length;
    if (this.#length > longestLine) {
      throw new InvalidArgumentError(`${this.#name}: line ${this.#lines + 1} has more than 64 MiB, so it is no record`);
    }
    if (piece !== "") this.#pieces.push(piece);
  }
}

const longestLine = 64 * 1024 * 1024;

function encodingOf([one, two]: Buffer): string {
  if (one === 0xff && two === 0xfe) return "utf-16le";
  return one === 0xfe && two === 0xff ? "utf-16be" : "utf-8";
}
