/** One account of one gateway, with the name of its holder. */
export interface Account {
  /** The gateway's `institutionId`, or its record's `id`. */
  readonly gatewayId: string;
  readonly account: string;
  readonly name: string;
}

/** The accounts that the sandbox's name verification knows. */
export class AccountDirectory {
  readonly #names = new Map<string, string>();

  /** Adds an account, or gives a known one another name. */
  add({ gatewayId, account, name }: Account): void {
    this.#names.set(keyOf(gatewayId, account), name);
  }

  /** Forgets an account; says whether there was one. */
  remove(gatewayId: string, account: string): boolean {
    return this.#names.delete(keyOf(gatewayId, account));
  }

  nameOf(gatewayId: string, account: string): string | undefined {
    return this.#names.get(keyOf(gatewayId, account));
  }
}

function keyOf(gatewayId: string, account: string): string {
  return JSON.stringify([gatewayId, account]);
}
