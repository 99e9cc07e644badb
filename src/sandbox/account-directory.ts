/** One account of one gateway, with the name of its holder. */
export interface Account {
  /** The gateway's `institutionId`, or its record's `id`. */
  readonly gatewayId: string;
  readonly account: string;
  readonly name: string;
}

/** The accounts that the sandbox's name verification knows. */
export class AccountDirectory {
  readonly #accounts = new Map<string, Account>();

  /** Adds an account, or gives a known one another name. */
  add({ gatewayId, account, name }: Account): void {
    this.#accounts.set(keyOf(gatewayId, account), { gatewayId, account, name });
  }

  /** Forgets an account; says whether there was one. */
  remove(gatewayId: string, account: string): boolean {
    return this.#accounts.delete(keyOf(gatewayId, account));
  }

  /**
   * Those that were added first, at most so many.
   *
   * @internal
   */
  first(count: number): readonly Account[] {
    return [...this.#accounts.values()].slice(0, count);
  }

  nameOf(gatewayId: string, account: string): string | undefined {
    return this.#accounts.get(keyOf(gatewayId, account))?.name;
  }
}

function keyOf(gatewayId: string, account: string): string {
  return JSON.stringify([gatewayId, account]);
}
