import { createRequire } from "node:module";
import type { Zod } from "./compiled-schemas.js";

type Exports = Readonly<Record<string, unknown>>;

/** Loads a file. */
export type Load = (name: string) => Exports;

export type Require = Load & { readonly resolve: (name: string) => string };

/** Is `.cjs` in CommonJS. */
const thisFile = import.meta.url;

/**
 * What `compiled-schemas.ts` takes of zod, of the package that is installed: by its own files, since its entry takes three times as long, most of
 * it for languages that nobody asks for. zod promises nothing about those files, so whatever is wrong with them, the entry is used instead, as
 * in a bundle whose maker does not know the condition `module`.
 */
export async function loadZod(require?: Require): Promise<Zod> {
  try {
    return partsOf(filesOf(require ?? createRequire(thisFile)));
  } catch {
    const entry = await import("./compiled-schemas.js");
    return entry.loadZod();
  }
}

function filesOf(require: Require): readonly Exports[] {
  const folder = require.resolve("zod/package.json").replace(/package\.json$/, "v4/core/");
  // The ES modules wherever Node can `require` them: a program that uses zod has loaded those.
  const ending = process.features.require_module && !thisFile.endsWith(".cjs") ? "js" : "cjs";
  return ["checks", "compile", "parse", "schemas"].map((name) => require(`${folder}${name}.${ending}`));
}

/** @throws {TypeError} where something is not there. */
function partsOf(files: readonly Exports[]): Zod {
  const zod: Exports = Object.assign({}, ...files);
  const {
    $ZodCheckRegex,
    $ZodNumberFormat,
    $ZodObjectJIT: $ZodObject,
    $ZodString,
    $ZodUnknown,
    compile,
    validate,
  } = zod;
  const parts = { $ZodCheckRegex, $ZodNumberFormat, $ZodObject, $ZodString, $ZodUnknown, compile, validate };
  for (const [name, part] of Object.entries(parts)) {
    if (typeof part !== "function") throw new TypeError(`zod has no ${name}`);
  }
  return parts as unknown as Zod;
}
