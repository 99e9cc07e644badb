import { readdirSync, statSync } from "node:fs";
import { join, relative } from "node:path";

/** An entry of VitePress's sidebar. */
export interface SidebarItem {
  readonly text: string;
  readonly link?: string;
  readonly collapsed?: boolean;
  readonly items?: readonly SidebarItem[];
}

const kinds: Readonly<Record<string, string>> = {
  classes: "Classes",
  functions: "Functions",
  interfaces: "Interfaces",
  "type-aliases": "Types",
  variables: "Constants",
};

/** The reference as a tree: an entry point, and below it what it exports, by kind. */
export function referenceTree(folder: string): SidebarItem[] {
  return entryPoints(folder).map((path) => ({
    // The package's name is in each of them.
    text: relative(folder, path).replace(/^[^/]+\//, ""),
    link: `/reference/${relative(folder, path)}/`,
    collapsed: true,
    items: Object.entries(kinds).flatMap(([kind, text]) => {
      const names = subfolders(path).includes(kind) ? exportsIn(join(path, kind)) : [];
      const items = names.map((name) => ({ text: name, link: `/reference/${relative(folder, path)}/${kind}/${name}` }));
      return items.length === 0 ? [] : [{ text, collapsed: true, items }];
    }),
  }));
}

/** Folders of exports, such as `cross-border-payments` and `cross-border-payments/flow`. */
function entryPoints(folder: string): string[] {
  return subfolders(folder)
    .filter((name) => !Object.hasOwn(kinds, name))
    .flatMap((name) => {
      const path = join(folder, name);
      const isEntry = subfolders(path).some((inside) => Object.hasOwn(kinds, inside));
      return [...(isEntry ? [path] : []), ...entryPoints(path)];
    });
}

const subfolders = (path: string): string[] =>
  readdirSync(path).filter((name) => statSync(join(path, name)).isDirectory());

const exportsIn = (path: string): string[] => readdirSync(path).map((file) => file.replace(/\.md$/, ""));
