import type { KnownSurvivor } from "../known-survivor.js";

const compareGroup = "src/reconcile/compare-group.ts";

export const reconcile: readonly KnownSurvivor[] = [
  {
    file: compareGroup,
    line: "const ms = time === undefined ? Number.NaN : zonedMsOf(time);",
    original: "time === undefined",
    replacement: "false",
    why: "For the compiler: what is undefined is read as a time that can't be read.",
  },
];
