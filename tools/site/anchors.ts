import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** What the address of a heading ends in, on GitHub and on the site. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** Links of a built site to parts of its pages that are not there, as `page → address`. */
export function deadAnchors(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".html"));
  const pages = new Map(files.map((file) => [addressOf(file), readFileSync(join(folder, file), "utf8")]));
  const ids = new Map([...pages].map(([address, html]) => [address, idsOf(html)]));
  return [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/<a [^>]*href="([^"#]*)#([^"]+)"/g)].flatMap(([, path = "", id = ""]) => {
      if (/^\w+:/.test(path)) return [];
      const target = new URL(path, `file://${page}`).pathname;
      return ids.get(target)?.has(decodeURIComponent(id)) ? [] : [`${page} → ${target}#${id}`];
    }),
  );
}

function idsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id));
}

function addressOf(file: string): string {
  return `/${file}`.replace(/(\/index)?\.html$/, (_, index) => (index === undefined ? "" : "/"));
}
