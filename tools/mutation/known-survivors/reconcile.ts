import type { KnownSurvivor } from "../known-survivor.js";

const watchCursor = "src/reconcile/watch-cursor.ts";
const compareGroup = "src/reconcile/compare-group.ts";
const watchPayments = "src/reconcile/watch-payments.ts";
const temporaryFile = "src/reconcile/temporary-file.ts";
const paymentPages = "src/reconcile/payment-pages.ts";
const readsOn = "It reads a page more, of which nothing counts.";
const noPlaceForIds = "The path of the list has no place for an id.";

export const reconcile: readonly KnownSurvivor[] = [
  {
    file: compareGroup,
    line: "const ms = time === undefined ? Number.NaN : zonedMsOf(time);",
    original: "time === undefined",
    replacement: "false",
    why: "For the compiler: what is undefined is read as a time that can't be read.",
  },
  {
    file: "src/reconcile/newest-check.ts",
    line: "if (createdMs > (this.#newestMs ?? Number.NEGATIVE_INFINITY)) this.#newestMs = createdMs;",
    replacement: "createdMs >= (this.#newestMs ?? Number.NEGATIVE_INFINITY)",
    why: "It would be replaced by itself.",
  },
  ...['"Stryker was here!"', '["Stryker was here"]'].map((replacement) => ({
    file: watchCursor,
    line: 'const [, foundVersion = "", body = "", sum = ""] = /^(pw\\d+)\\.([\\w-]+)\\.([0-9a-f]{16})$/.exec(cursor) ?? [];',
    replacement,
    why: "What is no sum of a body is refused, whatever else it is.",
  })),
  ...[
    "const [last, sums]: unknown[] = Array.isArray(mark) ? mark : [];",
    "return Array.isArray(parsed) ? parsed : [];",
    "return [];",
  ].map((line) => ({
    file: watchCursor,
    line,
    replacement: '["Stryker was here"]',
    why: "It is refused as an empty array is.",
  })),
  {
    file: "src/reconcile/token-time.ts",
    line: "if (difference > 0) rising += 1;",
    replacement: "difference >= 0",
    why: "Two times that are equal are no pair: they lie within the tolerance.",
  },
  {
    file: paymentPages,
    line: "for await (const { items } of new Listing(client, payments.list, [], query, options, position).pages()) {",
    replacement: '["Stryker was here"]',
    why: noPlaceForIds,
  },
  {
    file: watchPayments,
    line: "const [first] = await this.#api.call(payments.list, [], { paging }, this.#requestOptions());",
    replacement: '["Stryker was here"]',
    why: noPlaceForIds,
  },
  {
    file: paymentPages,
    line: 'const position = new ListPosition("up", ({ pagingToken }: Payment) => nonEmptyText(pagingToken));',
    replacement: "() => undefined",
    why: "Only of a descending list does it note tokens.",
  },
  {
    file: watchPayments,
    line: "if (startedMs >= rereadAtMs) {",
    replacement: "startedMs > rereadAtMs",
    why: "What is due in this very millisecond is read after the next wait.",
  },
  {
    file: watchPayments,
    line: "if (this.#isCatchingUp) this.#trim(beforeMs, page.at(-1)?.pagingToken);",
    original: "this.#isCatchingUp",
    replacement: "true",
    why: "What goes after each page would go after the last one: it only looks at the whole window more often.",
  },
  {
    file: watchPayments,
    line: "if (this.#isCatchingUp) this.#trim(beforeMs, page.at(-1)?.pagingToken);",
    replacement: "page.at(-1).pagingToken",
    why: "For the compiler: no page is empty.",
  },
  {
    file: watchPayments,
    line: "if (!isOver()) {",
    replacement: "true",
    why: "Where the watch is over, its signal ends the question too, and what is thrown is not told.",
  },
  {
    file: watchPayments,
    line: "if (watched.some(({ token }) => compareTokens(token, last) >= 0)) break;",
    replacement: "watched.every(({ token }) => compareTokens(token, last) >= 0)",
    why: readsOn,
  },
  {
    file: watchPayments,
    line: "if (watched.some(({ token }) => compareTokens(token, last) >= 0)) break;",
    replacement: "compareTokens(token, last) > 0",
    why: readsOn,
  },
  {
    file: "src/reconcile/payment-window.ts",
    line: "if (this.#last === undefined || compareTokens(entry.token, this.#last) > 0) this.#last = entry.token;",
    replacement: "compareTokens(entry.token, this.#last) >= 0",
    why: "It would be replaced by its equal.",
  },
  {
    file: temporaryFile,
    line: 'const key = await globalThis.crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, [',
    replacement: "true",
    why: "The key is nowhere else than in its object, which does not export it.",
  },
  {
    file: temporaryFile,
    line: "const iv = ivOf(this.#pieces++);",
    replacement: "this.#pieces--",
    why: "Counted down, no number comes twice either.",
  },
];
