import { type CursorFields, type Direction, type ListOrder, leadsOn } from "./cursor-order.js";

/**
 * Where a page begins: after the last record; from before it, so that it comes again; or one record further back. At first all three are
 * the beginning of the list.
 */
export type PageStart = "after" | "overlap" | "further back";

export interface ReceivedPage<Item> {
  readonly items: readonly Item[];
  readonly fields: CursorFields;
  readonly start: PageStart;
}

export type TokenOf = (item: never) => string | undefined;

/** A page of one record, which shows no order, and the page before it. */
interface Unproved {
  readonly page: CursorFields;
  readonly before: CursorFields | undefined;
}

/** How many of the records that were handed out come again. */
const repeated: Readonly<Record<PageStart, number>> = { after: 0, overlap: 1, "further back": 2 };

/** How far a list has been read. Nothing is requested here. */
export class ListPosition {
  /** The last page as it came, with what it repeated of the one before it. */
  last: CursorFields | undefined;
  first: CursorFields | undefined;
  pages = 0;
  order: ListOrder | undefined;
  /** Whether a page has shown the order of the tokens: one record shows none. */
  isOrderShown = false;
  /** A page that shows no order: nothing may lie before it that was passed over. */
  unproved: Unproved | undefined;
  /** Whether a list of one record was read again from its beginning, and had no other. */
  isWhole = false;
  /** Tokens of the first two records. */
  head: readonly string[] = [];
  /** Ids, or tokens, of what was handed out of a descending list: what moves to its beginning leaves no other trace. */
  readonly #read = new Set<string | undefined>();
  /** The same of what stood above the list at its end. */
  readonly #above = new Set<string | undefined>();
  readonly #direction: Direction;
  readonly #tokenOf: TokenOf;
  #longest = 0;
  #isShort = false;
  #hasRoomForTwo = true;
  /** Tokens of the last records, up to three. */
  #tail: readonly string[] = [];
  #lastId: unknown;

  constructor(direction: Direction, tokenOf: TokenOf) {
    this.#direction = direction;
    this.#tokenOf = tokenOf;
  }

  get isAtStart(): boolean {
    return this.last === undefined;
  }

  /**
   * How the next page is asked for. A page that may be the last one is followed by one that shows its last record again, which costs no
   * request. In a descending list every page is: after a gap, a machine that lags behind shows older records only.
   */
  get next(): PageStart {
    if (this.#direction === "down") return this.#tail.length > 1 && this.#hasRoomForTwo ? "overlap" : "after";
    return this.#isShort && this.#longest > 1 ? "overlap" : "after";
  }

  /** The token after which such a page begins; `undefined` for the beginning of the list. */
  tokenBefore(start: PageStart): string | undefined {
    return this.#tail.at(-1 - repeated[start]);
  }

  /** `_size` of such a page: with one record of two, nothing would show whether there are more. */
  sizeOf(start: PageStart, size: number | undefined): number | undefined {
    return size === undefined ? undefined : Math.max(size, repeated[start] + 1);
  }

  /** The records of a page that were not handed out: those after the position, and those that are listed late before it. */
  newsOf<Item>({ items, fields, start }: ReceivedPage<Item>): readonly Item[] {
    if (start === "after") return items;
    const last = this.#tail.at(-1);
    // What stands before the beginning of a descending list came to it later.
    const hasLate = this.#direction === "up" || this.tokenBefore(start) !== undefined;
    return items.filter((item, index) => {
      const token = fields.tokens[index];
      if (token === undefined || last === undefined) return true;
      if (this.#isLast(item, token) || this.wasRead(item)) return false;
      return leadsOn(last, token, this.#direction) || (hasLate && !this.#isOfLastPage(item, token));
    });
  }

  /** What a page says of the records after the position: that there are some or none, or nothing, since it may be too old. */
  evidenceOf<Item>(page: ReceivedPage<Item>): "more" | "end" | "none" {
    const hasNews = this.newsOf(page).length > 0;
    if (page.start === "after") return hasNews ? "more" : "none";
    const isShown = this.#showsLast(page);
    if (hasNews) return isShown || (this.#direction === "up" && this.#goesOn(page)) ? "more" : "none";
    const hasRoom = page.items.length < Math.max(this.#longest, 2);
    return isShown && hasRoom ? "end" : "none";
  }

  /** How to ask once more for a page that lacked the last record. Of a descending list, who knows the one before it knows all older ones. */
  get again(): PageStart {
    return this.#direction === "down" && this.#longest > 2 ? "further back" : "overlap";
  }

  /** Whether two records can stand on one page, so that the last one alone has none after it. */
  get canShowEnd(): boolean {
    return this.#longest > 1;
  }

  /** Of a descending list of one record, nothing is known after which it would come again. */
  get isOneOfDescending(): boolean {
    return this.#direction === "down" && this.#tail.length === 1;
  }

  /** What lies before a page, where its tokens are looked at together with those of the whole list. */
  pageBefore<Item>({ start }: ReceivedPage<Item>): Pick<CursorFields, "tokens"> | undefined {
    if (start === "after") return this.last;
    const token = this.tokenBefore(start);
    return token === undefined ? undefined : { tokens: [token] };
  }

  /** From here on, a page has no more records than this: more were too large to be read. */
  narrow(size: number): void {
    this.#longest = Math.min(this.#longest, size);
    this.#isShort = false;
    this.#hasRoomForTwo = size > 1;
  }

  /** Takes a page of which `news` are handed out. */
  advance<Item>({ items, fields, start }: ReceivedPage<Item>, news: readonly Item[], size: number | undefined): void {
    const { length } = fields.tokens;
    this.#isShort = length < Math.max(this.#longest, this.isAtStart ? (size ?? 0) : 0);
    this.#longest = Math.max(this.#longest, length);
    this.#noteHead(fields);
    const tokens = fields.tokens.slice(-3).filter((token) => token !== undefined);
    this.#tail = [...this.#tail.slice(0, this.#tail.length - repeated[start]), ...tokens].slice(-3);
    this.isOrderShown ||= length > 1;
    this.unproved = this.isOrderShown ? undefined : { page: fields, before: this.last };
    this.first ??= fields;
    this.last = fields;
    this.pages += 1;
    this.#lastId = idOf(items.at(-1));
    if (this.#direction === "up") return;
    for (const item of news) this.#read.add(this.#keyOf(item));
  }

  #noteHead({ tokens }: CursorFields): void {
    const [top] = this.head;
    for (const token of tokens) {
      if (this.head.length === 2) return;
      if (token !== undefined && (top === undefined || leadsOn(top, token, this.#direction)))
        this.head = [...this.head, token];
    }
  }

  /** Whether a page of what stands above the second record of a descending list is all of it, from a machine that knows the first one. */
  isAllAbove(items: readonly unknown[]): boolean {
    const last = items.at(-1);
    return this.isShorter(items.length) && last !== undefined && this.#tokenOf(last as never) === this.head[0];
  }

  /** Notes a page of so many records. Whether the service has had longer ones. */
  isShorter(length: number): boolean {
    const isShorter = length < this.#longest;
    this.#longest = Math.max(this.#longest, length);
    return isShorter;
  }

  /** Notes a record that stood above the list. */
  noteAbove(item: unknown): void {
    this.#above.add(this.#keyOf(item));
  }

  wasRead(item: unknown): boolean {
    return this.wasInList(item) || this.#above.has(this.#keyOf(item));
  }

  /** Whether a record was read on the way down: a machine that shows it is not older than the list. One that shows what stood above may be. */
  wasInList(item: unknown): boolean {
    return this.#read.has(this.#keyOf(item));
  }

  #keyOf(item: unknown): string | undefined {
    return idOf(item) ?? this.#tokenOf(item as never);
  }

  /** Compares ids too, since the record's token may have grown. */
  #isLast(item: unknown, token: string): boolean {
    const id = idOf(item);
    return id === undefined ? token === this.#tail.at(-1) : id === this.#lastId;
  }

  #isOfLastPage(item: unknown, token: string): boolean {
    const id = idOf(item);
    return id === undefined ? this.last?.tokens.includes(token) === true : this.last?.ids.has(id) === true;
  }

  /** Whether the page ends further on than the last one. False where records that are listed late fill it. */
  #goesOn({ fields }: { readonly fields: CursorFields }): boolean {
    const [last, end] = [this.#tail.at(-1), fields.tokens.at(-1)];
    return last === undefined || end === undefined || leadsOn(last, end, this.#direction);
  }

  /** One record further back, any record of the last page shows that the page is not older than it. */
  #showsLast<Item>({ items, fields, start }: ReceivedPage<Item>): boolean {
    return items.some((item, index) => {
      const token = fields.tokens[index];
      if (token === undefined) return false;
      return this.#isLast(item, token) || (start === "further back" && this.#isOfLastPage(item, token));
    });
  }
}

function idOf(item: unknown): string | undefined {
  const id: unknown = (item as { readonly id?: unknown } | undefined)?.id;
  return typeof id === "string" && id !== "" ? id : undefined;
}
