/** A payment as the service lists it. */
export interface SimulatedPayment {
  readonly id: string;
  readonly createdAt: string;
  /** `undefined` where the service gives none. */
  readonly token: string | undefined;
  /** Its JSON. */
  readonly text: string;
  /** Milliseconds since 1970. */
  readonly listedAtMs: number;
}

/** What records are sorted by. Tokens are numbers where they are written as such. */
interface SortKeys {
  readonly record: SimulatedPayment;
  readonly token: number | string;
  readonly createdAt: string;
}

type Sorting = { readonly field: "token" | "createdAt"; readonly isDescending: boolean };

/** The payments of a service, in the orders in which they are asked for. */
export class PaymentList {
  readonly #records: SortKeys[] = [];
  /** Sorted once for all pages, until there is another record. */
  readonly #sorted = new Map<string, readonly SortKeys[]>();

  constructor(records: readonly SimulatedPayment[]) {
    for (const record of records) this.add(record);
  }

  add(record: SimulatedPayment): void {
    this.#records.push({ record, token: toRank(record.token ?? record.id), createdAt: record.createdAt });
    this.#sorted.clear();
  }

  /** Whether there is one that can't be seen yet. */
  hasUnlisted(nowMs: number): boolean {
    return this.#records.some(({ record }) => record.listedAtMs > nowMs);
  }

  /** One page as SQL would read the description: bounds on the token, sort, limit. */
  page(path: string, nowMs: number, mostListed: number): readonly SimulatedPayment[] {
    const query = queryOf(path);
    const { _after: after, _before: before, _sort: sort = "" } = query;
    const isWanted = ({ record: { listedAtMs, token }, token: rank }: SortKeys) =>
      listedAtMs <= nowMs &&
      (token === undefined ||
        ((after === undefined || compareRanks(rank, toRank(after)) > 0) &&
          (before === undefined || compareRanks(rank, toRank(before)) < 0)));
    const size = Math.min(Number(query._size ?? mostListed), mostListed);
    const page: SimulatedPayment[] = [];
    for (const keys of this.#inOrder(sort)) {
      if (page.length >= size) break;
      if (isWanted(keys)) page.push(keys.record);
    }
    return page;
  }

  #inOrder(sort: string): readonly SortKeys[] {
    let sorted = this.#sorted.get(sort);
    if (sorted === undefined) {
      const { field, isDescending } = sortingOf(sort);
      const sign = isDescending ? -1 : 1;
      sorted = this.#records.toSorted((one, other) => sign * compareRanks(one[field], other[field]));
      this.#sorted.set(sort, sorted);
    }
    return sorted;
  }
}

/** The first field alone decides; records that have the same are listed as they were made. */
function sortingOf(sort: string): Sorting {
  const [field, direction] = sort.split(".");
  return { field: field === "createdAt" ? "createdAt" : "token", isDescending: direction === "desc" };
}

/** Nothing in it is escaped. */
function queryOf(path: string): Readonly<Record<string, string | undefined>> {
  const pairs = path.slice(path.indexOf("?") + 1).split("&");
  return Object.fromEntries(pairs.map((pair) => pair.split("=")));
}

function toRank(token: string): number | string {
  return /^\d+$/.test(token) ? Number(token) : token;
}

/** A number comes before every text. */
function compareRanks(one: number | string, other: number | string): number {
  if (typeof one !== typeof other) return typeof one === "number" ? -1 : 1;
  return one < other ? -1 : one > other ? 1 : 0;
}
