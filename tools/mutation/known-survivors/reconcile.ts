import type { KnownSurvivor } from "../known-survivor.js";

const watchCursor = "src/reconcile/watch-cursor.ts";
const compareGroup = "src/reconcile/compare-group.ts";

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
];
