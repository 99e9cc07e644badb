/** The fields of which a client has told that they are not as described: each of an operation once, so many and no more. */
export class ReportedFields {
  readonly #fields = new Set<string>();

  /** Whether the field was not reported before, and is to be now. */
  isNew(operation: string, field: string): boolean {
    // No field that is reported has a space in it.
    const name = `${field} ${operation}`;
    if (this.#fields.has(name) || this.#fields.size >= mostReported) return false;
    this.#fields.add(name);
    return true;
  }
}

const mostReported = 1000;
