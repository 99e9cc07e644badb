import type { ReleaseFundsByKey, TakeFundsByKey } from "../flows/funds-functions.js";

type Funds = "taken" | "declined" | "released";

/** A bank's two functions as they should be: idempotent by key, the first answer is final, and `replayed` is true. */
export class SimulatedBank {
  readonly #funds = new Map<string, Funds>();
  readonly #takenAtMs = new Map<string, number>();
  readonly #declines: () => boolean;
  readonly #nowMs: (() => number) | undefined;

  /** @param nowMs the time by the bank's clock, where it says when it took the money. */
  constructor(declines: () => boolean, nowMs?: () => number) {
    this.#declines = declines;
    this.#nowMs = nowMs;
  }

  readonly takeFunds: TakeFundsByKey = ({ key }) => {
    const known = this.#funds.get(key);
    const funds = known ?? (this.#declines() ? "declined" : "taken");
    this.#funds.set(key, funds);
    if (funds !== "taken") return null;
    const takenAtMs = this.#takenAtMs.get(key) ?? this.#nowMs?.();
    if (takenAtMs !== undefined) this.#takenAtMs.set(key, takenAtMs);
    return {
      senderGatewayTransactionId: `transaction of ${key}`,
      replayed: known !== undefined,
      ...(takenAtMs === undefined ? undefined : { takenAtMs }),
    };
  };

  readonly releaseFunds: ReleaseFundsByKey = ({ key }) => {
    this.#funds.set(key, "released");
  };
}
