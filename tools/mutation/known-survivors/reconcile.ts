import type { KnownSurvivor } from "../known-survivor.js";

const watchCursor = "src/reconcile/watch-cursor.ts";
const compareGroup = "src/reconcile/compare-group.ts";
const watchPayments = "src/reconcile/watch-payments.ts";
const temporaryFile = "src/reconcile/temporary-file.ts";
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
    file: "src/reconcile/payment-pages.ts",
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
