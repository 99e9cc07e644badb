/** Outcomes, each with the cases that come to it: the text of a file that shows what a change of the code changes. */
export class Recorded {
  readonly #cases = new Map<string, string[]>();

  add(name: string, outcome: string): void {
    this.#cases.set(outcome, [...(this.#cases.get(outcome) ?? []), name]);
  }

  toString(): string {
    return [...this.#cases].map(([outcome, names]) => `${outcome}\n    ${names.join("\n    ")}\n`).join("\n");
  }
}
