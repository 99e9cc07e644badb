import { createRequire } from "node:module";
import type { Zod } from "./compiled-schemas.js";

type Exports = Readonly<Record<string, unknown>>;

/** Loads a file. */
export type Load = (name: string) => Exports;

export type Require = Load & { readonly resolve: (name: string) => string };

/**
 * What `compiled-schemas.ts` takes of zod, of the package that is installed: by its own files, since its entry takes three times as long, most of
 * it for languages that nobody asks for. zod promises nothing about those files, so whatever is wrong with them, the entry is used instead, as
 * in a bundle whose maker does not know the condition `module`.
 *
 * @param thisFile ends in `.cjs` in CommonJS.
 */
export async function loadZod(thisFile?: string, require?: Require): Promise<Zod> {
  return zodOfFiles(thisFile, require) ?? (await import("./compiled-schemas.js")).loadZod();
}

function zodOfFiles(given: string | undefined, givenRequire: Require | undefined): Zod | undefined {
  try {
    // Some bundles have no such thing: CommonJS in an ES module.
    const thisFile = given ?? import.meta.url;
    const require = givenRequire ?? createRequire(thisFile);
    const folder = require.resolve("zod/package.json").replace(/package\.json$/, "v4/core/");
    // The ES modules wherever Node can `require` them: a program that uses zod has loaded those.
    const ending = process.features.require_module && !thisFile.endsWith(".cjs") ? "js" : "cjs";
    const files = ["checks", "compile", "parse", "schemas"].map((name) => require(`${folder}${name}.${ending}`));
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
    return Object.values(parts).every((part) => typeof part === "function") ? (parts as unknown as Zod) : undefined;
  } catch {
    return undefined;
  }
}
