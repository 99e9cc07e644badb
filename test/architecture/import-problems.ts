import { builtinModules } from "node:module";
import { posix } from "node:path";
import { findCircles, type ImportGraph } from "./find-circles.js";
import { readImports } from "./read-imports.js";

export interface ImportTable {
  readonly layers: Readonly<Record<string, readonly string[]>>;
  readonly packages: Readonly<Record<string, readonly string[]>>;
}

/** In the table, what stands for a module whose name is not a string literal. */
const computedName = "a computed name";

/** The files of `src/` behind each `#name` of package.json's `imports`. */
export type SubpathImports = ReadonlyMap<string, readonly string[]>;

/** One import of one file. */
interface Edge {
  /** Files are relative to `src/`, with slashes. */
  readonly from: string;
  readonly line: number;
  /** Undefined where the name of the module is not a string literal. */
  readonly specifier: string | undefined;
  /** A file of `src/`, or the name of a package. */
  readonly to: string;
  readonly toPackage: boolean;
}

/** One entry of the table. */
interface Permission {
  readonly importer: string;
  readonly target: string;
}

/**
 * What is wrong with the imports of `src/`, one sentence for each problem.
 * @param texts The text of each file, by its path in `src/`.
 */
export function importProblems(
  texts: ReadonlyMap<string, string>,
  table: ImportTable,
  subpaths: SubpathImports = new Map(),
): string[] {
  const edges = [...texts].flatMap(([path, text]) => edgesOf(path, text, subpaths));
  return [
    ...unlistedLayers([...texts.keys()], table),
    ...edges.flatMap((edge) => edgeProblem(edge, texts, table)),
    ...findCircles(graphOf(texts, edges)).map((circle) => `These files import each other in a circle: ${circle}.`),
    ...upwardPermissions(table),
    ...unusedPermissions(edges, table),
  ];
}

/** The files that no other one imports. */
export function unimportedFiles(texts: ReadonlyMap<string, string>, subpaths: SubpathImports): string[] {
  const imported = new Set([...texts].flatMap(([path, text]) => edgesOf(path, text, subpaths).map(({ to }) => to)));
  return [...texts.keys()].filter((path) => !imported.has(path));
}

function edgesOf(from: string, text: string, subpaths: SubpathImports): Edge[] {
  return readImports(from, text).flatMap(({ specifier, line }) => {
    const edge = { from, line, specifier, toPackage: false };
    if (specifier === undefined) return [{ ...edge, to: computedName, toPackage: true }];
    const files = /^\.\.?(\/|$)/.test(specifier) ? [fileOf(from, specifier)] : subpaths.get(specifier);
    return files?.map((to) => ({ ...edge, to })) ?? [{ ...edge, to: packageOf(specifier), toPackage: true }];
  });
}

function fileOf(from: string, specifier: string): string {
  return posix.join(posix.dirname(from), specifier).replace(/\.js$/, ".ts");
}

/** `zod` of `zod/v4/core`, `@scope/name` of `@scope/name/x`, `node:crypto` of `crypto`. */
function packageOf(specifier: string): string {
  const name = specifier.split("/", specifier.startsWith("@") ? 2 : 1).join("/");
  return builtinModules.includes(name) && !name.startsWith("node:") ? `node:${name}` : name;
}

/** The folder directly in `src/`; a file directly in it is a layer of its own. */
function layerOf(path: string): string {
  return path.split("/", 1)[0] ?? path;
}

function covers(folderOrFile: string, path: string): boolean {
  return path === folderOrFile || path.startsWith(`${folderOrFile}/`);
}

function permissions(table: ImportTable): Permission[] {
  return [
    ...Object.entries(table.layers).flatMap(([importer, targets]) => targets.map((target) => ({ importer, target }))),
    ...Object.entries(table.packages).flatMap(([target, importers]) =>
      importers.map((importer) => ({ importer, target })),
    ),
  ];
}

function permits({ importer, target }: Permission, edge: Edge): boolean {
  return covers(importer, edge.from) && covers(target, edge.to);
}

function edgeProblem(edge: Edge, texts: ReadonlyMap<string, string>, table: ImportTable): string[] {
  const place = `src/${edge.from}:${edge.line}`;
  if (edge.specifier === undefined) {
    if (permissions(table).some((permission) => permits(permission, edge))) return [];
    return [`${place} imports a module whose name is not a string literal, so it can't be checked.`];
  }
  const layer = layerOf(edge.from);
  if (!edge.toPackage && !texts.has(edge.to)) return [`${place} imports ${edge.specifier}: src/ has no ${edge.to}.`];
  if (!edge.toPackage && layerOf(edge.to) === layer) return [];
  if (permissions(table).some((permission) => permits(permission, edge))) return [];
  if (edge.toPackage) {
    const importers = table.packages[edge.to];
    const rule = importers === undefined ? "It is not in the table" : `Only these may: ${importers.join(", ")}`;
    return [`${place} imports ${edge.specifier}. ${rule}.`];
  }
  const allowed = table.layers[layer];
  if (allowed === undefined) return [];
  return [
    `${place} imports ${edge.specifier}. src/${layer} may import only: ${allowed.join(", ") || "its own files"}.`,
  ];
}

function unlistedLayers(paths: readonly string[], table: ImportTable): string[] {
  const present = new Set(paths.map(layerOf));
  const listed = Object.keys(table.layers);
  const face = listed.filter((layer) => layer.endsWith(".ts")).join(", ");
  const unlisted = [...present].filter((layer) => !listed.includes(layer));
  return [
    ...unlisted.map((layer) =>
      layer.endsWith(".ts")
        ? `src/${layer}: only ${face} may be directly in src/. Move it into the folder of its job.`
        : `src/${layer} is not in the table: say there what it may import.`,
    ),
    ...listed
      .filter((layer) => !present.has(layer))
      .map((layer) => `The table lists src/${layer}, which is not there.`),
  ];
}

function graphOf(texts: ReadonlyMap<string, string>, edges: readonly Edge[]): ImportGraph {
  const graph = new Map([...texts.keys()].map((path) => [path, new Map<string, number>()]));
  for (const { from, line, to, toPackage } of edges) if (!toPackage && from !== to) graph.get(from)?.set(to, line);
  return graph;
}

function upwardPermissions(table: ImportTable): string[] {
  const order = Object.keys(table.layers);
  return Object.entries(table.layers).flatMap(([layer, targets]) =>
    targets
      .filter((target) => !order.slice(0, order.indexOf(layer)).includes(layerOf(target)))
      .map(
        (target) => `The table lets ${layer} import ${target}, which is not a lower layer: it is not listed before it.`,
      ),
  );
}

function unusedPermissions(edges: readonly Edge[], table: ImportTable): string[] {
  return permissions(table)
    .filter((permission) => !edges.some((edge) => permits(permission, edge)))
    .map(({ importer, target }) => `The table lets ${importer} import ${target}, but no file does: remove the entry.`);
}
