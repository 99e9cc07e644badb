import ts from "typescript";

export interface ModuleImport {
  /** Undefined if the name of the module isn't a string literal. */
  readonly specifier: string | undefined;
  readonly line: number;
}

/** Calls of `createRequire(…)`, `process.getBuiltinModule`, and computed imports, which the compiler doesn't list. */
const more = /(?:getBuiltinModule(?:\?\.)?|createRequire\([^()]*\))\(\s*(["'])(.+?)\1|\bimport\((?!\s*["'`])/g;

/** Every module that a file names, types included. */
export function readImports(text: string): readonly ModuleImport[] {
  const { importedFiles, ambientExternalModules = [] } = ts.preProcessFile(text, true, true);
  const lineOf = (position: number) => text.slice(0, position).split("\n").length;
  return [
    ...importedFiles.map(({ fileName, pos }) => ({ specifier: fileName, line: lineOf(pos) })),
    ...ambientExternalModules.map((specifier) => ({ specifier, line: lineOf(text.indexOf(specifier)) })),
    ...[...text.matchAll(more)].map(({ index, 2: specifier }) => ({ specifier, line: lineOf(index) })),
  ];
}
