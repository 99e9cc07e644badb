import type { Page } from "./page.js";

/**
 * The records of pages, one after another. A generator would take several promises for each record; here one that has come
 * already takes a single one.
 */
export class Records<Item> implements AsyncGenerator<Item, void, undefined> {
  readonly #pages: AsyncGenerator<Page<Item>, void, undefined>;
  #items: readonly Item[] = [];
  #taken = 0;
  #ended = false;
  /** The page that is awaited. A caller that asks meanwhile waits for its turn. */
  #coming: Promise<void> | undefined;

  constructor(pages: AsyncGenerator<Page<Item>, void, undefined>) {
    this.#pages = pages;
  }

  next(): Promise<IteratorResult<Item, void>> {
    if (this.#taken < this.#items.length) {
      const value = this.#items[this.#taken++] as Item;
      return Promise.resolve({ value, done: false });
    }
    if (this.#ended) return Promise.resolve({ value: undefined, done: true });
    if (this.#coming !== undefined) return afterPage(this.#coming, () => this.next());
    this.#coming = this.#turn();
    return this.#coming.then(() => this.next());
  }

  async return(): Promise<IteratorResult<Item, void>> {
    if (this.#coming !== undefined) return afterPage(this.#coming, () => this.return());
    this.#end();
    await this.#pages.return();
    return { value: undefined, done: true };
  }

  async throw(error: unknown): Promise<IteratorResult<Item, void>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #turn(): Promise<void> {
    try {
      const { value: page, done } = await this.#pages.next();
      if (done === true) return this.#end();
      this.#items = page.items;
      this.#taken = 0;
    } catch (error) {
      this.#end();
      throw error;
    } finally {
      this.#coming = undefined;
    }
  }

  #end(): void {
    this.#items = [];
    this.#ended = true;
  }
}

/** Only the caller that requested a page gets its error; for those waiting behind it the records have ended. */
function afterPage<T>(coming: Promise<void>, work: () => Promise<T>): Promise<T> {
  return coming.then(work, work);
}
