import { BadRequestError } from "../errors/errors.js";
import type { Payment } from "../resources/payments.js";
import { CreationOrder, createdMsOf, type NextInCreation, updatedMsOf } from "./creation-order.js";
import { nameOf, tokenOf } from "./listed-payment.js";
import { NewestFirstProof } from "./newest-first-proof.js";
import { PageSequence } from "./page-sequence.js";
import type { PaymentPages } from "./payment-pages.js";
import type { Direction } from "./token-order.js";
import { TokenOrder } from "./token-order.js";
import { TokenTime } from "./token-time.js";

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
   * Where something is decided on what is not listed: nothing is wanted that was created before this time, in milliseconds since 1970. What
   * was read on several pages is then read once more, so that no payment is passed over whose paging token grew meanwhile.
   */
  decidesFromMs?: (() => number) | undefined;
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
  /** By so much the clocks of the service's machines may differ. Default: 0. */
  readonly clockSkewMs?: number | undefined;
}

interface Rereading {
  /** Which way the tokens go from older payments to newer ones. */
  readonly direction: Direction;
  /** A token that was given before any payment was made that is wanted; `undefined` for all payments. */
  readonly after: string | undefined;
  /** What was created after this time was all on one page. */
  readonly untilMs: number;
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
  /** Those for whom all was read, and is to be read once more. */
  readonly #deciding = new Map<PaymentGoal, "enough" | "end">();
  #rereading: Rereading | undefined;
  /** What was created after this time was all on the first page, which no token cut out, whichever replica responded. */
  #untilMs: number | undefined;
  /** Ids of the newest payments. What is listed in one order is listed in the other. */
  readonly #newest = new Set<string | undefined>();
  #seen = 0;

  constructor(pages: PaymentPages, limits: ReadingLimits, goals: Iterable<PaymentGoal>) {
    this.#pages = pages;
    this.#limits = limits;
    this.#goals = new Set(goals);
  }

  /** Reads nothing more for this goal. */
  leave(goal: PaymentGoal): void {
    this.#goals.delete(goal);
    this.#deciding.delete(goal);
  }

  get isOver(): boolean {
    return this.#isRead && this.#deciding.size === 0;
  }

  /** Rejects when a request fails; those who still read along have no ending then. */
  async run(): Promise<void> {
    const isRead = await this.#readNewestFirst();
    // What is too long to be read in the order of tokens is not read a second time.
    if (!isRead && this.#isTooLong) this.#endAll("unproved", this.#tooMany());
    else if (!isRead) await this.#readInTokenOrder();
    if (this.#rereading !== undefined) await this.#readAgain(this.#rereading);
  }

  /** @returns false where nothing proves that every payment was read. */
  async #readNewestFirst(): Promise<boolean> {
    const { newestFirst } = this.#limits;
    const order = new TokenOrder();
    // A page that lags behind may lack what the response to a question shows.
    const ask: ConstructorParameters<typeof NewestFirstProof>[0] = async (paging) => {
      const asked = await this.#pages.ask(paging);
      this.#notice(asked);
      return asked.map(tokenOf);
    };
    const proof = new NewestFirstProof(ask, newestFirst, this.#pages.fullSize);
    const sequence = new PageSequence(this.#pages, newestFirst);
    let createdAt = "";
    let problem: string | undefined;
    let onFirstPage: number | undefined;
    this.#begin();
    for (let direction: Direction | undefined = "down"; ; ) {
      const page = await this.#nextOf(sequence, direction);
      if (page === "refused") return false;
      const { payments, isEnd, gap, doubt } = page;
      if (onFirstPage === undefined) this.#untilMs = oldestMsOf(payments);
      for (const payment of payments) this.#newest.add(nameOf(payment).id);
      // Every payment of the page is looked at before the order decides anything.
      await this.#take(payments);
      if (this.#isRead) return true;
      onFirstPage ??= this.#seen;
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
      if (this.#isRead) return true;
      if (!isProved) return false;
      if (gap !== undefined) return this.#endAll("gap", gap);
      problem ??= doubt;
      const rereading = {
        direction: opposite(direction),
        after: undefined,
        untilMs: this.#untilMs ?? Number.POSITIVE_INFINITY,
      };
      const again = this.#seen > onFirstPage ? rereading : undefined;
      if (isEnd) return this.#endRead("end", problem, again);
      const enough = [...this.#goals].filter((goal) => goal.isEnough());
      // They are read for at once, from the token on that serves the goal that needs the most. Where the tokens of all payments may be younger
      // than that, further ones are read.
      const fromMs = Math.min(...enough.map(({ decidesFromMs }) => decidesFromMs?.() ?? Number.POSITIVE_INFINITY));
      const after = tokenFromBefore(payments, fromMs);
      for (const goal of enough) {
        if (again === undefined || goal.decidesFromMs === undefined) this.#end(goal, sureOf("enough", problem));
        else if (after !== undefined) this.#decide(goal, "enough", problem, { ...again, after });
      }
      if (this.#isRead) return true;
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
    const { clockSkewMs = 0 } = this.#limits;
    const time = new TokenTime(clockSkewMs);
    const sequence = new PageSequence(this.#pages, "pagingToken.asc");
    let onFirstPage: number | undefined;
    let problem: string | undefined;
    this.#begin();
    for (;;) {
      const { payments, isEnd, gap, doubt } = await sequence.next("up");
      await this.#take(payments, problem);
      onFirstPage ??= this.#seen;
      for (const payment of payments) {
        const { id, token } = nameOf(payment);
        this.#newest.delete(id);
        time.add(payment);
        if (token === undefined) problem ??= "payments without a paging token are listed";
        else order.add(token);
      }
      if (!order.mayGoUp) problem ??= "the payments are not listed in the order of their paging tokens";
      problem ??= doubt;
      const cut = gap ?? (isEnd && this.#newest.size > 0 ? isOlder : undefined);
      if (cut !== undefined) this.#endAll(problem === undefined ? "gap" : "unproved", problem ?? cut);
      else if (isEnd) {
        const { direction, newestCreatedMs } = time;
        // Where the service sorts only what it cut out, that page was not of the newest.
        const untilMs = Math.max(this.#untilMs ?? Number.POSITIVE_INFINITY, newestCreatedMs - clockSkewMs - 1);
        const rereading = direction && { direction, after: undefined, untilMs };
        // A service lists that many at once, at least.
        const isOnePage = this.#seen === onFirstPage && this.#seen < provingTokens;
        this.#endRead("end", problem, isOnePage ? undefined : rereading);
      } else if (this.#isTooLong) this.#endAll("unproved", problem ?? this.#tooMany());
      if (this.#isRead) return;
    }
  }

  /** Reads what was read on several pages once more, for those who decide something on it. */
  async #readAgain({ direction, after, untilMs }: Rereading): Promise<void> {
    const order = new CreationOrder(this.#pages, direction, after, untilMs);
    while (this.#deciding.size > 0) {
      const { payments, end } = await this.#nextInCreation(order);
      this.#notice(payments);
      if (end === undefined) continue;
      const problem = end === "covered" ? undefined : mayHaveMoved;
      for (const [goal, at] of this.#deciding) this.#end(goal, sureOf(at, problem));
    }
  }

  async #nextInCreation(order: CreationOrder): Promise<NextInCreation> {
    try {
      return await order.next();
    } catch (error) {
      if (error instanceof BadRequestError) return { payments: [], end: "unproved" };
      throw error;
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

  #notice(payments: readonly Payment[]): void {
    for (const goal of [...this.#goals, ...this.#deciding.keys()]) {
      if (goal.notice?.(payments) === true) this.#end(goal, { at: "found" });
    }
  }

  #endAll(at: Ending["at"], problem?: string): true {
    for (const goal of this.#goals) this.#end(goal, { at, problem });
    return true;
  }

  /** @param again what is to be read again for those who decide something; `undefined` where one page had all of it. */
  #endRead(at: "end", problem: string | undefined, again: Rereading | undefined): true {
    for (const goal of this.#goals) this.#decide(goal, at, problem, again);
    return true;
  }

  #decide(goal: PaymentGoal, at: "enough" | "end", problem: string | undefined, again: Rereading | undefined): void {
    if (goal.decidesFromMs === undefined || again === undefined || problem !== undefined) {
      this.#end(goal, sureOf(at, problem));
      return;
    }
    this.#goals.delete(goal);
    this.#deciding.set(goal, at);
    // Who wants something of a later page wants more.
    this.#rereading = again;
  }

  #end(goal: PaymentGoal, { at, problem }: SureEnding): void {
    this.leave(goal);
    goal.end({ at, problem, ageSeconds: this.#pages.ageSeconds });
  }

  get #isRead(): boolean {
    return this.#goals.size === 0;
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

const mayHaveMoved =
  "the payments are listed on several pages, and nothing shows that none was passed over whose paging token grew while they were read";

const isOlder =
  "a payment that is among the newest is not among all in the order of their paging tokens: that list came from a replica that lags behind, or was cut short";

type SureEnding = Pick<Ending, "at"> & Partial<Pick<Ending, "problem">>;

function sureOf(at: "enough" | "end", problem: string | undefined): SureEnding {
  return { at: problem === undefined ? at : "unproved", problem };
}

function opposite(direction: Direction): Direction {
  return direction === "down" ? "up" : "down";
}

/** When the oldest of a page of the newest payments was created; what is sorted otherwise says nothing. */
function oldestMsOf(payments: readonly Payment[]): number {
  const times = payments.map(createdMsOf);
  const isSorted = times.every((ms, index) => ms <= (times[index - 1] ?? Number.POSITIVE_INFINITY));
  return isSorted ? (times.at(-1) ?? Number.NEGATIVE_INFINITY) : Number.POSITIVE_INFINITY;
}

/** The newest token of a page that was certainly given before this time. The newest payments come first. */
function tokenFromBefore(payments: readonly Payment[], timeMs: number): string | undefined {
  return tokenOf(payments.find((payment) => updatedMsOf(payment) < timeMs));
}

/** A text that is no timestamp shows nothing. */
function isNewer(createdAt: string, before: string): boolean {
  return Date.parse(createdAt) > Date.parse(before);
}
