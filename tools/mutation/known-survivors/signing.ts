import type { KnownSurvivor } from "../known-survivor.js";

const moreLayers =
  "It looks below more layers, each shorter than the one around it, and finds no less; the bound saves time.";
const undefinedEitherWay = "A function that returns nothing returns undefined.";

export const signing: readonly KnownSurvivor[] = [
  {
    file: "src/signing/private-key-text.ts",
    line: "const starts = layers === mostLayers ? [0, 1, 2, 3] : [0];",
    replacement: "true",
    why: "It reads inner layers from three more beginnings, and finds no less; one beginning saves time.",
  },
  ...["true", "layers >= 1"].map((replacement) => ({
    file: "src/signing/private-key-text.ts",
    line: "if (isMarked(inner) || (layers > 1 && holdsEncodedKey(inner, layers - 1))) return true;",
    replacement,
    why: moreLayers,
  })),
  {
    file: "src/signing/private-key-text.ts",
    line: "if (isMarked(inner) || (layers > 1 && holdsEncodedKey(inner, layers - 1))) return true;",
    replacement: "layers + 1",
    why: moreLayers,
  },
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
