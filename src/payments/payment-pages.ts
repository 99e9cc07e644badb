import type { ApiClient, PagingValues } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { UnexpectedResponseError } from "../errors/errors.js";
import { type Payment, payments } from "../resources/payments.js";

export interface PaymentSource {
  readonly client: ApiClient;
  readonly options?: RequestOptions | undefined;
  /** How many payments a page may have. Default: 100. */
  readonly size?: number | undefined;
  /** Reads records that differ from the description even where the client's validation is strict. */
  readonly lenient?: true | undefined;
  /**
   * Waits where a request can be made again, and throws the error where it can't. Default: none is made again.
   *
   * @param failures how often it failed in a row before.
   */
  readonly onFailure?: ((error: unknown, failures: number) => Promise<void>) | undefined;
}

/** Requests pages that fit into a response: smaller ones for as long as larger ones are too large. */
export class PaymentPages {
  readonly #source: PaymentSource;
  #fullSize: number;
  #size: number;
  #ageSeconds = 0;

  constructor(source: PaymentSource) {
    this.#source = source;
    // A page of one has no place for what shows that it follows another.
    this.#fullSize = Math.max(2, source.size ?? 100);
    this.#size = this.#fullSize;
  }

  get fullSize(): number {
    return this.#fullSize;
  }

  /** How long the oldest response had been in a cache, in seconds. Caches that say nothing of it are taken for the service. */
  get ageSeconds(): number {
    return this.#ageSeconds;
  }

  /** From here on, a page may have twice as many payments. */
  widen(): void {
    this.#fullSize *= 2;
    this.#size *= 2;
  }

  /**
   * One page.
   *
   * @param pagingOf what to ask for, by how many payments the page may have.
   */
  async page(pagingOf: (size: number) => PagingValues): Promise<readonly Payment[]> {
    for (let failures = 0; ; ) {
      const size = this.#size;
      try {
        const page = await this.#request({ _size: size, ...pagingOf(size) });
        this.#size = Math.min(this.#fullSize, 2 * size);
        return page;
      } catch (error) {
        if (error instanceof UnexpectedResponseError && size > 1) {
          // A page of two has place for the last payment of the page before it, and for the next.
          this.#size = size > 2 ? Math.max(2, Math.ceil(size / 10)) : 1;
          continue;
        }
        await this.#waitAfter(error, failures);
        failures += 1;
      }
    }
  }

  /** What is listed for a question about the order of the list. */
  async ask(paging: PagingValues): Promise<readonly Payment[]> {
    for (let failures = 0; ; failures += 1) {
      try {
        return await this.#request(paging);
      } catch (error) {
        await this.#waitAfter(error, failures);
      }
    }
  }

  async #waitAfter(error: unknown, failures: number): Promise<void> {
    const { onFailure } = this.#source;
    if (onFailure === undefined) throw error;
    await onFailure(error, failures);
  }

  async #request(paging: PagingValues): Promise<readonly Payment[]> {
    const { client, options, lenient } = this.#source;
    const input = { paging, ...(lenient && { lenient }) };
    const { data, response } = await client.call(payments.list, [], input, options).withResponse();
    // Each cache on the way may add one of its own.
    for (const age of (response.headers.age ?? "").split(",").map(Number)) {
      if (age > this.#ageSeconds) this.#ageSeconds = age;
    }
    return data;
  }
}
