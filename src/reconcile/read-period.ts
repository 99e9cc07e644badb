import { PagingError } from "../errors/errors.js";
import { zonedMsOf } from "../payments/listed-payment.js";
import { PaymentPages, type PaymentSource } from "../payments/payment-pages.js";
import { type Ending, type PaymentGoal, PaymentReading } from "../payments/read-payments.js";
import { type Payment, payments } from "../resources/payments.js";
import type { Period } from "./compare-group.js";

export interface PeriodReader extends PaymentSource {
  /** Waits before the payments are read again. */
  readonly pause: (failures: number) => Promise<void>;
}

/** So often the payments are read again before a gap in them is taken for a lasting one. */
const mostFailures = 3;

/**
 * Gives every payment that was created in a period, some of them maybe several times. The newest come first, and where creation and
 * paging tokens prove to go one way, the reading ends before the period. Where they do not, all payments are read.
 *
 * @param isAnyKnown whether payments are known to exist, so that a list without any can't be right.
 * @throws {PagingError} when the list can't be read without losing payments.
 */
export async function readPeriod(
  reader: PeriodReader,
  period: Period,
  isAnyKnown: boolean,
  onPayments: (payments: readonly Payment[]) => Promise<void>,
): Promise<void> {
  let hasSeen = isAnyKnown;
  for (let failures = 0; ; failures += 1) {
    const goal = new PeriodGoal(period, hasSeen, onPayments);
    await new PaymentReading(new PaymentPages(reader), limits, [goal]).run();
    const { problem, mayPass } = goal.doubt;
    hasSeen = goal.hasSeen;
    if (problem === undefined) return goal.giveNoticed();
    if (!mayPass) throw unreadable(problem, "paging");
    if (failures === mostFailures) throw unreadable(problem, "paging_end_unproved");
    await reader.pause(failures);
  }
}

const limits = { newestFirst: "createdAt.desc,pagingToken.desc" };

class PeriodGoal implements PaymentGoal {
  hasSeen: boolean;
  readonly #period: Period;
  readonly #onPayments: (payments: readonly Payment[]) => Promise<void>;
  /** Payments of the period that were listed beside what was read. */
  readonly #noticed = new Map<string, Payment>();
  #isEmpty: boolean | undefined;
  /** `NaN` where a time can't be read. */
  #oldestMs = Number.POSITIVE_INFINITY;
  #ending: Ending | undefined;

  /** @param hasSeen whether payments are known to exist. */
  constructor(period: Period, hasSeen: boolean, onPayments: (payments: readonly Payment[]) => Promise<void>) {
    this.#period = period;
    this.hasSeen = hasSeen;
    this.#onPayments = onPayments;
  }

  begin(): void {
    this.#isEmpty = true;
  }

  async take(page: readonly Payment[]): Promise<boolean> {
    if (page.length > 0) [this.#isEmpty, this.hasSeen] = [false, true];
    const wanted = page.filter(({ createdAt }) => {
      const createdMs = zonedMsOf(createdAt);
      this.#oldestMs = Math.min(this.#oldestMs, createdMs);
      return this.#isOfPeriod(createdMs);
    });
    await this.#onPayments(wanted);
    return false;
  }

  /** A page from a replica that lags behind may lack what another response shows. */
  notice(payments: readonly Payment[]): boolean {
    for (const payment of payments) {
      if (this.#isOfPeriod(zonedMsOf(payment.createdAt))) this.#noticed.set(payment.id, payment);
    }
    return false;
  }

  async giveNoticed(): Promise<void> {
    await this.#onPayments([...this.#noticed.values()]);
  }

  isEnough(): boolean {
    return this.#oldestMs < this.#period.fromMs;
  }

  end(ending: Ending): void {
    this.#ending = ending;
  }

  /** A payment whose time can't be read belongs to every period. */
  #isOfPeriod(createdMs: number): boolean {
    return !(createdMs < this.#period.fromMs || createdMs >= this.#period.toMs);
  }

  /** Why payments of the period may have been passed over, and whether reading again may help. */
  get doubt(): { readonly problem: string | undefined; readonly mayPass: boolean } {
    const { at, problem, ageSeconds = 0 } = this.#ending ?? {};
    if (problem !== undefined) return { problem, mayPass: at === "gap" };
    if (ageSeconds > 0) return { problem: `the list came from a cache, ${ageSeconds} s old`, mayPass: true };
    const isDoubtful = this.#isEmpty && this.hasSeen;
    return {
      problem: isDoubtful ? "no payment at all is listed, and there are some" : undefined,
      mayPass: true,
    };
  }
}

function unreadable(problem: string, code: "paging" | "paging_end_unproved"): PagingError {
  const { name: operation } = payments.list;
  return new PagingError(`${operation}: the payments of the period can't be read completely: ${problem}`, {
    operation,
    code,
  });
}
