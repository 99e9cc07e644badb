import type { KnownSurvivor } from "../known-survivor.js";

const undefinedEitherWay = "A function that returns nothing returns undefined.";

export const signing: readonly KnownSurvivor[] = [
  {
    file: "src/signing/read-key.ts",
    line: "} catch {",
    replacement: "{}",
    why: undefinedEitherWay,
  },
  ...['"Stryker was here!"', '["Stryker was here"]'].map((replacement) => ({
    file: "src/signing/read-key.ts",
    line: 'const [, label = ""] = /-----BEGIN ([^-]+)-----/.exec(text) ?? [];',
    replacement,
    why: "A text without a label and one with a label of no key are told alike.",
  })),
];
