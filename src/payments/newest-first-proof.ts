import type { PagingValues } from "../api/api-client.js";
import { ApiError } from "../errors/errors.js";
import { isRefusedQuestion } from "../wire/status.js";
import type { Direction } from "./token-order.js";

/** Gives the paging tokens of the records that a list has for these values, in its order. */
export type ReadTokens = (paging: PagingValues) => Promise<readonly (string | undefined)[]>;

/**
 * Proves that pages which are read from the newest record back pass none over. That their tokens go one way is not enough:
 *
 * - A service that sorts only what it cut out begins anywhere, and its first page can look like the end of the list.
 * - A service that orders whole numbers as the texts that they are written as has 999 after 1000. After the cursor 1000 it lists 100, 10
 *   and 1, which go the same way as 1000 and 999 would.
 * - Of two records that are made at once, the one that was created first can get the higher token. Where a page ends between them, it lies
 *   on neither side of the cursor.
 *
 * Only tokens of the list itself are asked about: a service may refuse others.
 */
export class NewestFirstProof {
  readonly #read: ReadTokens;
  readonly #sort: string;
  readonly #size: number;
  #beforeLast: string | undefined;
  #last: string | undefined;

  /**
   * @param sort how the pages are sorted: by `createdAt.desc` first.
   * @param size how many records a page may have.
   */
  constructor(read: ReadTokens, sort: string, size: number) {
    this.#read = read;
    this.#sort = sort;
    this.#size = size;
  }

  /**
   * Takes each page, in order, and whatever the list ends with: an empty page too.
   *
   * @param tokens strictly in one direction, from page to page too.
   * @param direction which way the tokens go from the newest record to older ones.
   * @returns whether no record was passed over up to here.
   */
  async holds(tokens: readonly string[], direction: Direction): Promise<boolean> {
    const [beforeLast, last] = [this.#beforeLast, this.#last];
    const [first] = tokens;
    if (first === undefined) return last === undefined || (beforeLast !== undefined && this.#isOldest(last, direction));
    this.#beforeLast = tokens.at(-2) ?? last;
    this.#last = tokens.at(-1);
    return last === undefined ? this.#beginsWithNewest(first, direction) : this.#isNext(last, first, direction);
  }

  async #beginsWithNewest(first: string, direction: Direction): Promise<boolean> {
    const newer = await this.#ask({ _size: 1, ...boundAgainst(direction, first) });
    if (newer?.length === 0) return true;
    // They were created meanwhile, or the page lags behind. Then the list begins with others now, and the response, which the caller of the
    // list gets too, goes back to where the page began.
    const newest = await this.#ask({ _size: this.#size, _sort: this.#sort });
    return newest !== undefined && newest[0] !== first && newest.includes(first);
  }

  /** Of all records on the newer side of this one, as the service sees it, the oldest has to be the one that was read before it. */
  async #isNext(before: string | undefined, token: string, direction: Direction): Promise<boolean> {
    if (before === undefined) return false;
    const newer = await this.#ask({ _size: 1, _sort: oldestFirst(direction), ...boundAgainst(direction, token) });
    return newer?.[0] === before;
  }

  /** Of all records: one whose token has moved to the newer side is older all the same, whichever machine responds. */
  async #isOldest(token: string, direction: Direction): Promise<boolean> {
    const oldest = await this.#ask({ _size: 1, _sort: oldestFirst(direction) });
    return oldest?.[0] === token;
  }

  /** Returns `undefined` where the service refuses the question. */
  async #ask(paging: PagingValues): Promise<readonly (string | undefined)[] | undefined> {
    try {
      return await this.#read(paging);
    } catch (error) {
      if (error instanceof ApiError && isRefusedQuestion(error.status)) return undefined;
      throw error;
    }
  }
}

function oldestFirst(direction: Direction): string {
  return `createdAt.asc,pagingToken.${direction === "down" ? "asc" : "desc"}`;
}

/** The bound that leaves the newer records, where the tokens go in this direction to the older ones. */
function boundAgainst(direction: Direction, token: string): PagingValues {
  return direction === "down" ? { _after: token } : { _before: token };
}
