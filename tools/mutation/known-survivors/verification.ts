import type { KnownSurvivor } from "../known-survivor.js";

const verifyRecord = "src/verification/verify-record.ts";

export const verification: readonly KnownSurvivor[] = [
  {
    file: verifyRecord,
    line: "if (signed === undefined || written === undefined) return false;",
    original: "written === undefined",
    replacement: "false",
    why: "For the compiler: both rows of the catalogue have a body.",
  },
  {
    file: verifyRecord,
    line: "return one.length === other.length && one.every((byte, index) => byte === other[index]);",
    original: "one.length === other.length",
    replacement: "true",
    why: "The DER form of a key begins with its length: none is the beginning of another.",
  },
];
