import { createRequire } from "node:module";
import type { Zod } from "./compiled-schemas.js";

type Exports = Readonly<Record<string, unknown>>;

/** Loads a file or a package. */
export type Load = (name: string) => Exports;

export type Require = Load & { readonly resolve: (name: string) => string };

/** Is `.cjs` in CommonJS. */
const thisFile = import.meta.url;

/**
 * What `compiled-schemas.ts` takes of zod, of the package that is installed: by its own files, since its entry takes three times as long, most of
 * it for languages that nobody asks for. zod promises nothing about those files, so whatever is wrong with them, the entry is used instead.
 */
export function loadZod(require: Require = createRequire(thisFile)): Zod {
  try {
    return partsOf(Object.assign({}, ...filesOf(require)));
  } catch {
    return partsOf(require("zod/v4/core"));
  }
}

function filesOf(require: Require): readonly Exports[] {
  const folder = require.resolve("zod/package.json").replace(/package\.json$/, "v4/core/");
  // The ES modules wherever Node can `require` them: a program that uses zod has loaded those.
  const ending = process.features.require_module && !thisFile.endsWith(".cjs") ? "js" : "cjs";
  return ["checks", "compile", "parse", "schemas"].map((name) => require(`${folder}${name}.${ending}`));
}

function partsOf(zod: Exports): Zod {
  const { $ZodCheckRegex, $ZodNumberFormat, $ZodObjectJIT, $ZodString, $ZodUnknown, compile, validate } = zod;
  const parts = {
    $ZodCheckRegex,
    $ZodNumberFormat,
    $ZodObject: $ZodObjectJIT,
    $ZodString,
    $ZodUnknown,
    compile,
    validate,
  };
  for (const [name, part] of Object.entries(parts)) {
    if (typeof part !== "function") throw new TypeError(`zod has no ${name}`);
  }
  return parts as unknown as Zod;
}
