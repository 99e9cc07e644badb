import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, fsyncSync, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { type Terminal, UsageError } from "../terminal.js";
import { asWord } from "../text.js";
import type { Format, ListedRecord } from "./formats.js";

/** Pages of what comes one by one; before an error, what came before it. */
export async function* inPages<Item>(items: AsyncIterable<Item>, size: number): AsyncGenerator<readonly Item[]> {
  let page: Item[] = [];
  try {
    for await (const item of items) {
      page.push(item);
      if (page.length < size) continue;
      yield page;
      page = [];
    }
  } catch (error) {
    yield page;
    throw error;
  }
  yield page;
}

/** Where the records of a list go: stdout, or a file that gets its name when the list is complete. */
export class ListOutput {
  readonly #format: Format;
  readonly #terminal: Terminal;
  readonly #file: { readonly path: string; readonly partPath: string; readonly handle: number } | undefined;
  #left: number;
  #after: string | undefined;

  /** @throws {UsageError} if `out` is something else than a file: a rename would replace a device, too. */
  constructor(
    format: Format,
    terminal: Terminal,
    {
      out,
      limit = Number.POSITIVE_INFINITY,
    }: { readonly out?: string | undefined; readonly limit?: number | undefined },
  ) {
    this.#format = format;
    this.#terminal = terminal;
    this.#left = limit;
    if (out === undefined) return;
    if (statSync(out, { throwIfNoEntry: false })?.isFile() === false) throw new UsageError(`--out ${out}: not a file`);
    const partPath = `${out}.${randomBytes(4).toString("hex")}.part`;
    this.#file = { path: out, partPath, handle: openSync(partPath, "wx", 0o600) };
  }

  /**
   * @param after the token that continues after these records, if there is one.
   * @returns whether more are wanted.
   */
  async write(records: readonly ListedRecord[], after?: string): Promise<boolean> {
    const wanted = records.slice(0, this.#left);
    // If the disk is full, half a record may have been written.
    this.#after = undefined;
    if (wanted.length > 0) await this.#writeText(this.#format.write(wanted));
    this.#left -= wanted.length;
    this.#after = after;
    return this.#left > 0;
  }

  async #writeText(text: string): Promise<void> {
    const { stdout } = this.#terminal;
    if (this.#file !== undefined) writeFileSync(this.#file.handle, text);
    // As fast as it is read.
    else if (!stdout.write(text)) await once(stdout, "drain");
  }

  async finish(): Promise<void> {
    await this.#writeText(this.#format.end?.() ?? "");
    if (this.#file !== undefined) {
      fsyncSync(this.#file.handle);
      closeSync(this.#file.handle);
      renameSync(this.#file.partPath, this.#file.path);
    }
  }

  /** The list was interrupted, or failed: says how to continue it, if that is possible. */
  abandon(): void {
    if (this.#file !== undefined) closeSync(this.#file.handle);
    if (this.#after === undefined) {
      if (this.#file !== undefined) rmSync(this.#file.partPath);
      return;
    }
    const part = this.#file === undefined ? "" : `${this.#file.partPath} has the records so far; `;
    this.#terminal.stderr.write(`cross-border: ${part}continue with --after ${asWord(this.#after)}\n`);
  }
}
