/** Fields that a client has reported as different: each field of an operation once, up to a limit. */
export class ReportedFields {
  readonly #fields = new Set<string>();

  /** Whether the field must be reported now. */
  isNew(operation: string, field: string): boolean {
    // Reported fields have no spaces.
    const name = `${field} ${operation}`;
    if (this.#fields.has(name) || this.#fields.size >= maxReported) return false;
    this.#fields.add(name);
    return true;
  }
}

const maxReported = 1000;
