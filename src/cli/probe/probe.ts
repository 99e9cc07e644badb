import type { Connection } from "../../settings/connection.js";
import type { Answer } from "./answer.js";
import { NoAnswer } from "./no-answer.js";
import type { Payments } from "./payments.js";
import type { Prober, Seen } from "./prober.js";
import { describe, isRefused, type Row, rowsOf, takenRows, tokensOf } from "./responses.js";
import { directionOf, nonEmptyText } from "./tokens.js";

/** What of a question is needed to have its answer. */
interface Asking {
  ask(probe: Probe): Promise<Answer>;
}

/** What questions have in common: lists that were read, and answers that others rest on. */
export class Probe {
  readonly prober: Prober;
  readonly connection: Connection;
  /** How often a question that needs it repeats what it does. */
  readonly trials: number;
  readonly #payments: Payments | undefined;
  readonly #answers = new Map<Asking, Promise<Answer>>();
  #firstPage: Promise<readonly Row[]> | undefined;
  #size: Promise<Readonly<Record<string, string>>> | undefined;
  #samples: Promise<readonly Seen[]> | undefined;

  constructor(prober: Prober, connection: Connection, trials: number, payments?: Payments) {
    this.prober = prober;
    this.connection = connection;
    this.trials = trials;
    this.#payments = payments;
  }

  /** What makes payments. @throws {NoAnswer} where nothing may be made. */
  get payments(): Payments {
    if (this.#payments === undefined) throw new NoAnswer("it needs --write");
    return this.#payments;
  }

  /** The answer of a question, which is asked once. */
  answer(question: Asking): Promise<Answer> {
    const known = this.#answers.get(question) ?? question.ask(this);
    this.#answers.set(question, known);
    return known;
  }

  /** @throws {NoAnswer} where the response is no list. */
  async list(query: Readonly<Record<string, string>> = {}, path = "/payments"): Promise<readonly Row[]> {
    const seen = await this.prober.send({ path, query });
    const rows = rowsOf(seen);
    if (rows === undefined) throw new NoAnswer(`${path} responded with ${describe(seen)}`);
    return rows;
  }

  /** The same; undefined where the service refuses what was asked for. @throws {NoAnswer} where it does neither. */
  async taken(query: Readonly<Record<string, string>>): Promise<readonly Row[] | undefined> {
    return takenRows(await this.prober.send({ path: "/payments", query }));
  }

  /** A `_size` of some records; none where the service refuses so many. */
  size(): Promise<Readonly<Record<string, string>>> {
    this.#size ??= this.prober
      .send({ path: "/payments", query: someRecords })
      .then((seen) => (isRefused(seen) ? {} : someRecords));
    return this.#size;
  }

  /** Payments without an order that was asked for: a page, or several where pages are small. */
  firstPage(): Promise<readonly Row[]> {
    this.#firstPage ??= this.#readFirstPage();
    return this.#firstPage;
  }

  /** Small reads, one after the other. */
  samples(): Promise<readonly Seen[]> {
    this.#samples ??= this.#readSamples();
    return this.#samples;
  }

  /** Whether there are records after those of a page; undefined where its tokens don't lead on. */
  async hasMore(page: readonly Row[]): Promise<boolean | undefined> {
    const tokens = tokensOf(page);
    const last = tokens.at(-1);
    if (last === undefined || tokens.length < page.length) return undefined;
    const bound = directionOf(tokens) === "down" ? "_before" : "_after";
    const ids = new Set(page.map(({ id }) => id));
    return (await this.list({ [bound]: last })).some(({ id }) => !ids.has(id));
  }

  async #readFirstPage(): Promise<readonly Row[]> {
    const rows = [...(await this.list(await this.size()))];
    const bound = directionOf(tokensOf(rows)) === "down" ? "_before" : "_after";
    for (let page = 1; page < 7 && rows.length > 0 && rows.length < 6; page += 1) {
      const token = nonEmptyText(rows.at(-1)?.pagingToken);
      const ids = new Set(rows.map(({ id }) => id));
      const news = token === undefined ? [] : (await this.list({ [bound]: token })).filter(({ id }) => !ids.has(id));
      if (news.length === 0) break;
      rows.push(...news);
    }
    return rows;
  }

  async #readSamples(): Promise<readonly Seen[]> {
    const samples: Seen[] = [];
    for (let index = 0; index < sampleCount; index += 1) {
      // Over more than a second, a Date tells more than its second.
      if (index > 0) await this.prober.pause(samplePauseMs);
      const seen = await this.prober.send({ path: "/payments", query: { _size: "1" } });
      if (rowsOf(seen) !== undefined) samples.push(seen);
    }
    if (samples.length === 0) throw new NoAnswer("no read responded with a list");
    return samples;
  }
}

const someRecords = { _size: "20" };
export const sampleCount = 50;
const samplePauseMs = 25;
