import { asWord } from "../printable.js";
import type { Terminal } from "../terminal.js";
import type { Format, ListedRecord } from "./formats.js";
import type { ListOptions } from "./list-options.js";
import { OutFile } from "./out-file.js";
import { writeOut } from "./write-out.js";

/** Where the records of a list go: stdout, or a file that is there once the list is whole. */
export class ListOutput {
  readonly #format: Format;
  readonly #terminal: Terminal;
  readonly #file: OutFile | undefined;
  #left: number;
  #isFirst = true;
  #after: string | undefined;

  constructor({ out, limit = Number.POSITIVE_INFINITY }: ListOptions, format: Format, terminal: Terminal) {
    this.#format = format;
    this.#terminal = terminal;
    this.#file = out === undefined ? undefined : new OutFile(out);
    this.#left = limit;
  }

  /**
   * Writes records, as fast as they are read.
   *
   * @param after the token that leads on behind them, if one does.
   * @returns whether more are wanted.
   */
  async write(records: readonly ListedRecord[], after?: string): Promise<boolean> {
    const wanted = records.slice(0, this.#left);
    if (wanted.length > 0) {
      await this.#writeText((this.#isFirst ? this.#format.head : "") + this.#format.write(wanted));
      this.#isFirst = false;
    }
    this.#left -= wanted.length;
    this.#after = after;
    return this.#left > 0;
  }

  async #writeText(text: string): Promise<void> {
    if (this.#file === undefined) await writeOut(text, this.#terminal);
    else this.#file.write(text);
  }

  finish(): void {
    this.#file?.finish();
    const names = this.#format.leftOut?.() ?? "";
    if (names === "") return;
    this.#terminal.stderr.write(
      `cross-border: the CSV has no columns for ${names}, which the description does not name; ndjson has them\n`,
    );
  }

  /** The list was interrupted, or failed: says how to continue it, if that is possible. */
  abandon(): void {
    if (this.#after === undefined) {
      this.#file?.discard();
      return;
    }
    this.#file?.keepPart();
    const part = this.#file === undefined ? "" : `${this.#file.partPath} has the records so far; `;
    this.#terminal.stderr.write(`cross-border: ${part}continue with --after ${asWord(this.#after)}\n`);
  }
}
