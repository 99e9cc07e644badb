/** The fields of which a client has told that they are not as described: each of an operation once, so many and no more. */
export class ReportedFields {
  readonly #fields = new Map<string, Set<string>>();
  #count = 0;

  /** Whether the field was not reported before, and is to be now. */
  isNew(operation: string, field: string): boolean {
    let fields = this.#fields.get(operation);
    if (fields?.has(field) || this.#count >= mostReported) return false;
    if (fields === undefined) {
      fields = new Set();
      this.#fields.set(operation, fields);
    }
    fields.add(field);
    this.#count += 1;
    return true;
  }
}

const mostReported = 1000;
