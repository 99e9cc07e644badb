import type { ReleaseFundsByKey, TakeFundsByKey } from "../flows/funds-functions.js";

type Funds = "taken" | "declined" | "released";

/** A bank's two functions as they should be: idempotent by key, the first answer is final, and `replayed` is true. */
export class SimulatedBank {
  readonly #funds = new Map<string, Funds>();
  readonly #declines: () => boolean;

  constructor(declines: () => boolean) {
    this.#declines = declines;
  }

  readonly takeFunds: TakeFundsByKey = ({ key }) => {
    const known = this.#funds.get(key);
    const funds = known ?? (this.#declines() ? "declined" : "taken");
    this.#funds.set(key, funds);
    if (funds !== "taken") return null;
    return { senderGatewayTransactionId: `transaction of ${key}`, replayed: known !== undefined };
  };

  readonly releaseFunds: ReleaseFundsByKey = ({ key }) => {
    this.#funds.set(key, "released");
  };
}
