import type { KnownSurvivor } from "../known-survivor.js";

export const http: readonly KnownSurvivor[] = [
  {
    file: "src/http/decision.ts",
    line: "return severity[one] >= severity[other] ? one : other;",
    replacement: "severity[one] > severity[other]",
    why: "Both are the same effect where they are as severe.",
  },
];
