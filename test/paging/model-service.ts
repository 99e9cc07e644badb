import type { PagingValues } from "../../src/api/api-client.js";
import type { ApiPromise } from "../../src/api/request-options.js";
import { toApiPromise } from "../../src/http/http-client.js";
import type { ListSource } from "../../src/paging/reader.js";
import { kindsOfTokens, refusal, selectPage } from "./select-page.js";

export interface ModelRecord {
  readonly id: string | number;
  readonly name: string;
  readonly createdAt: string;
  readonly pagingToken?: string | number;
  /** The record's place in the order of its tokens. */
  place: number;
}

/** What is wrong with a service. */
export type Defect =
  | "ignores the cursor"
  | "ignores _sort"
  | "refuses _sort"
  | "lists in no order"
  | "sorts only what it cut out"
  | "has no tokens";

export interface ModelOptions {
  readonly count: number;
  readonly tokens: keyof typeof kindsOfTokens;
  readonly isInclusive?: boolean;
  /** The largest `_size`. */
  readonly cap?: number;
  /** How the service lists without `_sort`. */
  readonly newestFirst?: boolean;
  readonly defect?: Defect | undefined;
}

/** A list in memory, whose service knows the place of each token, as a database knows its index. */
export class ModelService implements ListSource<ModelRecord> {
  readonly name = "rows.list";
  readonly records: ModelRecord[] = [];
  readonly requested: PagingValues[] = [];
  readonly slept: number[] = [];
  /** Responds instead of the list, for the request of this number. */
  intercept: (request: PagingValues, number: number) => readonly ModelRecord[] | undefined = () => undefined;
  readonly #options: ModelOptions;
  #places = 0;

  constructor(options: ModelOptions) {
    this.#options = options;
    for (let index = 0; index < options.count; index++) this.add();
  }

  add(): ModelRecord {
    const place = this.#places++;
    const record = {
      id: `r${String(place).padStart(4, "0")}`,
      name: `n${(place * 31) % 97}`,
      createdAt: new Date(1_700_000_000_000 + place * 1000).toISOString(),
      ...(this.#options.defect !== "has no tokens" && { pagingToken: kindsOfTokens[this.#options.tokens](place) }),
      place,
    };
    this.records.push(record);
    return record;
  }

  /** An update that moves a record to the end: its token grows. */
  touch(index: number): void {
    const record = this.records[index];
    if (record === undefined) return;
    record.place = this.#places++;
    Object.assign(record, { pagingToken: kindsOfTokens[this.#options.tokens](record.place) });
  }

  ask(request: PagingValues, _dropped?: AbortSignal): ApiPromise<readonly ModelRecord[]> {
    this.requested.push(request);
    if (this.requested.length > 500) throw new Error("the reader doesn't end");
    const respond = async () => this.intercept(request, this.requested.length) ?? this.select(request);
    return toApiPromise(respond().then((page) => page.map((record) => ({ ...record }))));
  }

  sleep(ms: number): Promise<void> {
    this.slept.push(ms);
    return Promise.resolve();
  }

  select({ _after, _before, ...rest }: PagingValues): readonly ModelRecord[] {
    const { defect, ...traits } = this.#options;
    if (defect === "refuses _sort" && rest._sort !== undefined) throw refusal(400);
    return selectPage(this.records, defect === "ignores the cursor" ? rest : { ...rest, _after, _before }, {
      ...traits,
      sort: defect === "ignores _sort" ? "ignored" : defect === "sorts only what it cut out" ? "cut" : undefined,
      placeOf: ({ place }) => place,
      placesOf: (token) => {
        const found = this.records.filter(({ pagingToken }) => String(pagingToken) === token);
        // Numbers have their place, even if their record moved.
        return found.length === 0 ? [Number(token) - 1000] : found.map(({ place }) => place);
      },
      keyOf: ({ place, name, createdAt, id }, field) => {
        if (field === undefined && defect === "lists in no order") return (place * 37) % 101;
        return field === "name" ? name : field === "createdAt" ? createdAt : field === "id" ? id : place;
      },
    });
  }
}
