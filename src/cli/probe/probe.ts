import { nonEmptyText } from "../../paging/cursor-order.js";
import { TokenOrder } from "../../payments/token-order.js";
import type { Connection } from "../../settings/connection.js";
import type { Payments } from "./payments.js";
import type { Prober, Seen } from "./prober.js";
import { type Answer, NoAnswer, type Question } from "./question.js";

/** A record of a list, as it came. */
export type Row = Readonly<Record<string, unknown>>;

/** What questions have in common: lists that were read, and answers that others rest on. */
export class Probe {
  readonly prober: Prober;
  readonly connection: Connection;
  /** How often a question that needs it repeats what it does. */
  readonly trials: number;
  readonly #payments: Payments | undefined;
  readonly #answers = new Map<Question, Promise<Answer>>();
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
  answer(question: Question): Promise<Answer> {
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
      samples.push(await this.prober.send({ path: "/payments", query: { _size: "1" } }));
    }
    return samples;
  }
}

const someRecords = { _size: "20" };
export const sampleCount = 50;
const samplePauseMs = 25;

/** The records of a response; undefined where it has none. */
export function rowsOf({ status, json }: Seen): readonly Row[] | undefined {
  if (status !== 200 || !Array.isArray(json)) return undefined;
  return json.filter((row) => typeof row === "object" && row !== null);
}

export function tokensOf(rows: readonly Row[]): readonly string[] {
  return rows.flatMap((row) => nonEmptyText(row.pagingToken) ?? []);
}

/** Which way texts go, as numbers or as texts; undefined where they go no one way. */
export function directionOf(tokens: readonly string[]): "up" | "down" | undefined {
  const order = new TokenOrder();
  for (const token of tokens) order.add(token);
  return order.direction;
}

/** Whether a cache on the way says that it made this response. */
export function isCached({ headers }: Seen): boolean {
  return headers.age !== undefined || /\bhit\b/i.test(headers["x-cache"] ?? "");
}

/** Status and form of a response, without anything of what it says. */
export function describe(seen: Seen): string {
  return `${seen.status} (${formOf(seen)})`;
}

/** Type of a body, and the names of its fields. */
export function formOf({ headers, json, hasBody }: Seen): string {
  if (!hasBody) return "no body";
  const type = (headers["content-type"] ?? "no content type").split(";")[0]?.trim() ?? "";
  const shown = /^[\w.+/-]{1,60}$/.test(type) ? type : "a content type of its own";
  if (typeof json !== "object" || json === null || Array.isArray(json)) return shown;
  const names = Object.keys(json).filter((name) => /^\w{1,40}$/.test(name));
  return `${shown}: ${names.sort().slice(0, 8).join(", ")}`;
}

/** The code of a refusal, where it is a word. */
export function codeIn({ json }: Seen): string | undefined {
  const { error, code, title } = Object(json) as Record<string, unknown>;
  return [error, code, title].find((word): word is string => typeof word === "string" && /^[\w.-]{1,60}$/.test(word));
}

/** Whether the service refuses what was asked, and not who asks, or when. */
export function isRefused({ status }: Seen): boolean {
  return status >= 400 && status < 500 && ![401, 408, 425, 429].includes(status);
}

/** `createdAt` in milliseconds since 1970. */
export function createdAtMs({ createdAt }: Row): number | undefined {
  const ms = typeof createdAt === "string" ? Date.parse(createdAt) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}
