import { BadRequestError } from "../errors/errors.js";
import type { Direction } from "../paging/cursor-order.js";
import { NewestFirstProof } from "../paging/newest-first.js";
import type { Payment } from "../resources/payments.js";
import { tokenOf } from "./listed-payment.js";
import { PageSequence } from "./page-sequence.js";
import type { PaymentPages } from "./payment-pages.js";
import { TokenOrder } from "./token-order.js";

/** How a reading ended for somebody who read along. */
export interface Ending {
  /**
   * `found`: nothing else was wanted. `enough`: nothing that lies further back was wanted. `end`: the list is over. `gap`: a page did not
   * follow the one before it, which another reading may not find. `unproved`: nothing in this list shows that all was read.
   */
  readonly at: "found" | "enough" | "end" | "gap" | "unproved";
  /** Why it is not certain that no payment was passed over; `undefined` when it is certain, or none was wanted any more. */
  readonly problem: string | undefined;
  /** How long the oldest response so far had been in a cache, in seconds; 0 for none. */
  readonly ageSeconds: number;
}

/** Somebody who wants something of the listed payments. */
export interface PaymentGoal {
  /** The list is read from one of its ends. Where that is done a second time, everything comes again. */
  begin(): void;
  /** Takes what comes next in the list, none twice. True when no other payment is wanted. */
  take(payments: readonly Payment[]): boolean | Promise<boolean>;
  /** Whether nothing is wanted of what was created before the payments that were taken. Asked only where that order is proved. */
  isEnough(): boolean;
  /**
   * Looks at payments that are listed beside what is read, some of them perhaps again or before their turn. True when no other payment is
   * wanted.
   */
  notice?(payments: readonly Payment[]): boolean;
  end(ending: Ending): void;
}

export interface ReadingLimits {
  /** How the newest payments are asked for. */
  readonly newestFirst: string;
  /** How many payments are read in one order at most. Default: any number. */
  readonly mostPayments?: number | undefined;
}

/**
 * Reads the payments once, for one who wants something of them or for several.
 *
 * Nothing says what paging tokens look like: they may be numbers that grow, UUIDs, or numbers that several machines hand out from
 * ranges of their own. The newest payments come first, since most of what is wanted is among them. Only where their tokens have proved
 * to go one way, with no payment passed over, does the reading end before the list does. Otherwise all payments are read, in the order
 * of their tokens.
 */
export class PaymentReading {
  readonly #pages: PaymentPages;
  readonly #limits: ReadingLimits;
  readonly #goals: Set<PaymentGoal>;
  #seen = 0;

  constructor(pages: PaymentPages, limits: ReadingLimits, goals: Iterable<PaymentGoal>) {
    this.#pages = pages;
    this.#limits = limits;
    this.#goals = new Set(goals);
  }

  /** Nothing is read for it any more. */
  leave(goal: PaymentGoal): void {
    this.#goals.delete(goal);
  }

  /** Whether nobody reads along any more. */
  get isOver(): boolean {
    return this.#goals.size === 0;
  }

  /** Rejects when a request fails; those who still read along have no ending then. */
  async run(): Promise<void> {
    if (await this.#readNewestFirst()) return;
    // What is too long to be read in the order of tokens is not read a second time.
    if (this.#isTooLong) this.#endAll("unproved", this.#tooMany());
    else await this.#readInTokenOrder();
  }

  /** @returns false where nothing proves that every payment was read. */
  async #readNewestFirst(): Promise<boolean> {
    const { newestFirst } = this.#limits;
    const order = new TokenOrder();
    // A page that lags behind may lack what the response to a question shows.
    const ask: ConstructorParameters<typeof NewestFirstProof>[0] = async (paging) => {
      const asked = await this.#pages.ask(paging);
      for (const goal of this.#goals) if (goal.notice?.(asked) === true) this.#end(goal, { at: "found" });
      return asked.map(tokenOf);
    };
    const proof = new NewestFirstProof(ask, newestFirst, this.#pages.fullSize);
    const sequence = new PageSequence(this.#pages, newestFirst);
    let createdAt = "";
    let problem: string | undefined;
    this.#begin();
    for (let direction: Direction | undefined = "down"; ; ) {
      const page = await this.#nextOf(sequence, direction);
      if (page === "refused") return false;
      const { payments, isEnd, gap, doubt } = page;
      // Every payment of the page is looked at before the order decides anything.
      await this.#take(payments);
      if (this.isOver) return true;
      const tokens: string[] = [];
      for (const payment of payments) {
        const token = tokenOf(payment);
        if (token === undefined || isNewer(payment.createdAt, createdAt)) return false;
        tokens.push(token);
        order.add(token);
        createdAt = payment.createdAt;
      }
      direction = order.direction;
      if (direction === undefined || order.count < provingTokens) return false;
      const isProved = await proof.holds(tokens, direction);
      if (this.isOver) return true;
      if (!isProved) return false;
      if (gap !== undefined) return this.#endAll("gap", gap);
      problem ??= doubt;
      const sure = (at: "enough" | "end") => (problem === undefined ? at : "unproved");
      if (isEnd) return this.#endAll(sure("end"), problem);
      for (const goal of this.#goals) if (goal.isEnough()) this.#end(goal, { at: sure("enough"), problem });
      if (this.isOver) return true;
      if (this.#isTooLong) return this.#endAll("unproved", problem ?? this.#tooMany());
    }
  }

  /** A service may refuse to sort by creation. Then the order of the tokens is left. */
  async #nextOf(sequence: PageSequence, direction: Direction) {
    try {
      return await sequence.next(direction);
    } catch (error) {
      if (error instanceof BadRequestError) return "refused";
      throw error;
    }
  }

  async #readInTokenOrder(): Promise<void> {
    const order = new TokenOrder();
    const sequence = new PageSequence(this.#pages, "pagingToken.asc");
    let problem: string | undefined;
    this.#begin();
    for (;;) {
      const { payments, isEnd, gap, doubt } = await sequence.next("up");
      await this.#take(payments, problem);
      for (const payment of payments) {
        const token = tokenOf(payment);
        if (token === undefined) problem ??= "payments without a paging token are listed";
        else order.add(token);
      }
      if (!order.mayGoUp) problem ??= "the payments are not listed in the order of their paging tokens";
      problem ??= doubt;
      if (gap !== undefined) this.#endAll(problem === undefined ? "gap" : "unproved", problem ?? gap);
      else if (isEnd) this.#endAll(problem === undefined ? "end" : "unproved", problem);
      else if (this.#isTooLong) this.#endAll("unproved", problem ?? this.#tooMany());
      if (this.isOver) return;
    }
  }

  #begin(): void {
    this.#seen = 0;
    for (const goal of this.#goals) goal.begin();
  }

  async #take(payments: readonly Payment[], problem?: string): Promise<void> {
    this.#seen += payments.length;
    for (const goal of this.#goals) {
      const taken = goal.take(payments);
      if (typeof taken === "boolean" ? taken : await taken) this.#end(goal, { at: "found", problem });
    }
  }

  #endAll(at: Ending["at"], problem?: string): true {
    for (const goal of this.#goals) this.#end(goal, { at, problem });
    return true;
  }

  #end(goal: PaymentGoal, { at, problem }: { readonly at: Ending["at"]; readonly problem?: string | undefined }): void {
    this.#goals.delete(goal);
    goal.end({ at, problem, ageSeconds: this.#pages.ageSeconds });
  }

  get #isTooLong(): boolean {
    return this.#seen > (this.#limits.mostPayments ?? Number.POSITIVE_INFINITY);
  }

  #tooMany(): string {
    return `more than ${this.#limits.mostPayments} payments are listed`;
  }
}

/**
 * So many tokens in one order are no accident. They have to stand on the first page: on every other one the cursor has left out
 * whatever would show another order.
 */
const provingTokens = 20;

/** What is no timestamp shows nothing. */
function isNewer(createdAt: string, before: string): boolean {
  return Date.parse(createdAt) > Date.parse(before);
}
