import { styleText } from "node:util";

type Style = Parameters<typeof styleText>[0];

/** Prints what happens, checks that it is what should happen, and counts the checks. */
export class Narrator {
  readonly #colours = process.stdout.isTTY === true && process.env.NO_COLOR === undefined;
  #chapters = 0;
  #passed = 0;
  #failed = 0;

  get passed(): number {
    return this.#passed;
  }

  get failed(): number {
    return this.#failed;
  }

  chapter(title: string): void {
    this.#chapters += 1;
    this.#write(`\n${this.#paint("bold", `${this.#chapters}  ${title}`)}`);
  }

  say(text: string): void {
    this.#write(`   ${text}`);
  }

  /** Rows of names and values, the values in one column. */
  table(rows: Readonly<Record<string, string>>): void {
    const width = Math.max(...Object.keys(rows).map((name) => name.length));
    for (const [name, value] of Object.entries(rows)) {
      this.#write(`     ${this.#paint("dim", name.padEnd(width))}  ${value}`);
    }
  }

  /** One expected result. */
  check(holds: boolean, claim: string): void {
    if (holds) this.#passed += 1;
    else this.#failed += 1;
    this.#write(`   ${holds ? this.#paint("green", "✓") : this.#paint("red", "✗ NOT SO:")} ${claim}`);
  }

  end(seconds: number): void {
    const verdict =
      this.#failed === 0
        ? this.#paint("green", "Everything went as it should.")
        : this.#paint("red", "Something went wrong.");
    this.#write(`\n${verdict} ${this.#passed} checks passed, ${this.#failed} failed, ${seconds.toFixed(1)} s.\n`);
  }

  #paint(style: Style, text: string): string {
    return this.#colours ? styleText(style, text) : text;
  }

  #write(line: string): void {
    process.stdout.write(`${line}\n`);
  }
}

/** The first and the last characters of a long string. */
export function shorten(text: string, length = 24): string {
  return text.length <= length ? text : `${text.slice(0, length / 2)}…${text.slice(-length / 4)}`;
}
