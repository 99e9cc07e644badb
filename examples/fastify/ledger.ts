import { createHash, randomUUID } from "node:crypto";
import { link, mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { ReleaseFundsByKey, TakeFundsByKey } from "cross-border-payments/flow";

/** A movement of a sender's money. */
interface Movement {
  readonly transactionId: string;
  readonly account: string;
  readonly amount: string;
}

/**
 * Stands in for the gateway's own ledger: each movement is a file that is created once, so that all processes of the machine share it.
 * With a database it is a table whose primary key is the flow's key, and `insert … on conflict do nothing`.
 */
export class Ledger {
  readonly #folder: string;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  static async open(folder: string): Promise<Ledger> {
    await mkdir(folder, { recursive: true });
    return new Ledger(folder);
  }

  readonly takeFunds: TakeFundsByKey = async ({ key, intent }) => {
    if ((await this.#read(key, "released")) !== undefined) return null;
    const wanted = {
      transactionId: `TX-${randomUUID()}`,
      account: intent.senderAccount,
      amount: intent.senderAmount,
    };
    const isFirst = await this.#create(key, "taken", wanted);
    const taken = isFirst ? wanted : await this.#read(key, "taken");
    if (taken === undefined) throw new Error("the ledger's entry is there, and can't be read");
    return { senderGatewayTransactionId: taken.transactionId, replayed: !isFirst };
  };

  readonly releaseFunds: ReleaseFundsByKey = async ({ key, intent, senderGatewayTransactionId }) => {
    const { senderAccount: account, senderAmount: amount } = intent;
    await this.#create(key, "released", { transactionId: senderGatewayTransactionId, account, amount });
  };

  /** Whether it was created now: a link is made once, and with all of its content. */
  async #create(key: string, kind: "taken" | "released", movement: Movement): Promise<boolean> {
    const draft = join(this.#folder, `${randomUUID()}.draft`);
    await writeFile(draft, JSON.stringify(movement), { flush: true });
    try {
      await link(draft, this.#file(key, kind));
      return true;
    } catch (error) {
      if (codeOf(error) === "EEXIST") return false;
      throw error;
    } finally {
      await rm(draft, { force: true });
    }
  }

  async #read(key: string, kind: "taken" | "released"): Promise<Movement | undefined> {
    try {
      return JSON.parse(await readFile(this.#file(key, kind), "utf8")) as Movement;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  #file(key: string, kind: "taken" | "released"): string {
    return join(this.#folder, `${createHash("sha256").update(key).digest("hex")}.${kind}.json`);
  }
}

function codeOf(error: unknown): unknown {
  return Reflect.get(Object(error), "code");
}
