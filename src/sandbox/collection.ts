/** A stored record, with what the service knows of it beside its fields. */
export interface Row<T> {
  /** The row's place in the ledger, which is its paging token. */
  readonly token: number;
  /** The liquidity provider under which it is kept; empty for records of their own. */
  readonly owner: string;
  readonly addedAtMs: number;
  /** Of an intent: a payment was made of it. */
  isPaid?: true;
  record: Readonly<T>;
}

/** The stored records of one kind, oldest first. */
export class Collection<T extends { readonly id: string }> {
  readonly #rows = new Map<string, Row<T>>();
  readonly #nextToken: () => number;
  readonly #now: () => number;

  /** `nextToken` is shared by the collections of one ledger: tokens rise, with gaps within one collection. */
  constructor(nextToken: () => number, now: () => number) {
    this.#nextToken = nextToken;
    this.#now = now;
  }

  add(record: T, owner = ""): Row<T> {
    const row = { token: this.#nextToken(), owner, addedAtMs: this.#now(), record };
    this.#rows.set(record.id, row);
    return row;
  }

  find(id: string, owner = ""): Row<T> | undefined {
    const row = this.#rows.get(id);
    return row?.owner === owner ? row : undefined;
  }

  rows(): Row<T>[] {
    return [...this.#rows.values()];
  }

  records(): T[] {
    return this.rows().map((row) => structuredClone(row.record));
  }
}
