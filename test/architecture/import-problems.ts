import { builtinModules } from "node:module";
import { posix } from "node:path";
import { readImports } from "./read-imports.js";

export interface ImportTable {
  readonly layers: Readonly<Record<string, readonly string[]>>;
  readonly packages: Readonly<Record<string, readonly string[]>>;
}

/** The files of `src/` behind each `#name` of package.json's `imports`. */
export type SubpathImports = ReadonlyMap<string, readonly string[]>;

/** Paths are relative to `src/`. */
interface Edge {
  readonly from: string;
  /** A file of `src/`, the name of a package, or `a computed name`. */
  readonly to: string;
  readonly isPackage: boolean;
  readonly text: string;
}

function edgesOf(from: string, text: string, subpaths: SubpathImports): Edge[] {
  return readImports(text).flatMap(({ specifier = "a computed name", line }) => {
    const edge = { from, isPackage: false, text: `src/${from}:${line} imports ${specifier}` };
    const relative = posix.join(posix.dirname(from), specifier).replace(/\.js$/, ".ts");
    const files = specifier.startsWith(".") ? [relative] : subpaths.get(specifier);
    return files?.map((to) => ({ ...edge, to })) ?? [{ ...edge, to: packageOf(specifier), isPackage: true }];
  });
}

/** `zod` of `zod/v4/core`, `@scope/name` of `@scope/name/x`, `node:crypto` of `crypto`. */
function packageOf(specifier: string): string {
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  return builtinModules.includes(name) && !name.startsWith("node:") ? `node:${name}` : name;
}

/** The folder directly in `src/`; a file directly in it is a layer of its own. */
const layerOf = (path: string): string => path.split("/", 1)[0] ?? path;
const covers = (folderOrFile: string, path: string) => path === folderOrFile || path.startsWith(`${folderOrFile}/`);

/** One sentence for each import that the table doesn't allow, and for each entry that is wrong or has no use. */
export function importProblems(
  texts: ReadonlyMap<string, string>,
  { layers, packages }: ImportTable,
  subpaths: SubpathImports = new Map(),
): string[] {
  const edges = [...texts].flatMap(([path, text]) => edgesOf(path, text, subpaths));
  const order = Object.keys(layers);
  const present = new Set([...texts.keys()].map(layerOf));
  const upwards = Object.entries(layers).flatMap(([from, targets]) =>
    targets.filter((to) => !order.slice(0, order.indexOf(from)).includes(layerOf(to))).map((to) => ({ from, to })),
  );
  const rules = [
    ...Object.entries(layers).flatMap(([from, targets]) => targets.map((to) => ({ from, to }))),
    ...Object.entries(packages).flatMap(([to, importers]) => importers.map((from) => ({ from, to }))),
  ];
  const isUse = (rule: (typeof rules)[number], { from, to }: Edge) => covers(rule.from, from) && covers(rule.to, to);
  const isAllowed = (edge: Edge) =>
    (!edge.isPackage && layerOf(edge.from) === layerOf(edge.to)) || rules.some((rule) => isUse(rule, edge));
  const unused = rules.filter((rule) => !edges.some((edge) => isUse(rule, edge)));
  return [
    ...[...present].filter((layer) => !order.includes(layer)).map((layer) => `src/${layer} is not in the table.`),
    ...order.filter((layer) => !present.has(layer)).map((layer) => `The table lists src/${layer}, which is not there.`),
    ...edges
      .filter(({ to, isPackage }) => !isPackage && !texts.has(to))
      .map(({ text, to }) => `${text}: there is no src/${to}.`),
    ...edges.filter((edge) => !isAllowed(edge)).map(({ text }) => `${text}. The table doesn't allow it.`),
    ...circlesOf(edges).map((circle) => `These files import each other in a circle: ${circle}.`),
    ...upwards.map(({ from, to }) => `The table lets ${from} import ${to}, which is not a lower layer.`),
    ...unused.map(({ from, to }) => `The table lets ${from} import ${to}, but no file does.`),
  ];
}

/** The files that no other one imports. */
export function unimportedFiles(texts: ReadonlyMap<string, string>, subpaths: SubpathImports): string[] {
  const imported = new Set([...texts].flatMap(([path, text]) => edgesOf(path, text, subpaths).map(({ to }) => to)));
  return [...texts.keys()].filter((path) => !imported.has(path));
}

function circlesOf(edges: readonly Edge[]): string[] {
  const visited = new Set<string>();
  const circles: string[] = [];
  function visit(path: string, way: readonly string[]): void {
    if (way.includes(path)) circles.push([...way.slice(way.indexOf(path)), path].join(" -> "));
    if (visited.has(path)) return;
    visited.add(path);
    for (const { from, to } of edges) if (from === path) visit(to, [...way, path]);
  }
  for (const { from } of edges) visit(from, []);
  return circles;
}
