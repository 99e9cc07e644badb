import type { Page } from "./page.js";

/**
 * The records of pages, one after another. A generator does the same, and takes several promises for each record in place of one.
 *
 * Calls that do not wait for each other are served in the order in which they came, as a generator serves them.
 */
export class RecordIterator<Item> implements AsyncGenerator<Item, void, undefined> {
  readonly #pages: AsyncGenerator<Page<Item>, void, undefined>;
  #items: readonly Item[] = [];
  #count = 0;
  /** What is being done, and what waits for that. */
  #work: Promise<unknown> | undefined;

  constructor(pages: AsyncGenerator<Page<Item>, void, undefined>) {
    this.#pages = pages;
  }

  next(): Promise<IteratorResult<Item, void>> {
    if (this.#work !== undefined || this.#count === this.#items.length) return this.#inTurn(() => this.#advance());
    return Promise.resolve(this.#taken());
  }

  return(): Promise<IteratorResult<Item, void>> {
    return this.#inTurn(() => this.#end());
  }

  throw(error: unknown): Promise<IteratorResult<Item, void>> {
    return this.#inTurn(async () => {
      await this.#end();
      throw error;
    });
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #advance(): Promise<IteratorResult<Item, void>> {
    while (this.#count === this.#items.length) {
      const { done, value } = await this.#pages.next();
      if (done) return { done, value };
      this.#items = value.items;
      this.#count = 0;
    }
    return this.#taken();
  }

  #taken(): IteratorResult<Item, void> {
    const value = this.#items[this.#count++] as Item;
    return { done: false, value };
  }

  async #end(): Promise<IteratorResult<Item, void>> {
    this.#items = [];
    this.#count = 0;
    await this.#pages.return();
    return { done: true, value: undefined };
  }

  #inTurn<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#work === undefined ? work() : this.#work.then(work, work);
    this.#work = done;
    const forget = () => {
      if (this.#work === done) this.#work = undefined;
    };
    done.then(forget, forget);
    return done;
  }
}
