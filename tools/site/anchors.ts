import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";

/** What the address of a heading ends in, on GitHub and on the site. */
export function anchorOf(heading: string): string {
  return heading
    .trim()
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\p{M}_\- ]/gu, "")
    .replaceAll(" ", "-");
}

/** Links of a built site to pages, and parts of pages, that are not there, as `page → address`. */
export function deadLinksOf(folder: string): string[] {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".html"));
  const pages = new Map(files.map((file) => [addressOf(file), readFileSync(join(folder, file), "utf8")]));
  const ids = new Map([...pages].map(([address, html]) => [address, idsOf(html)]));
  return [...pages].flatMap(([page, html]) =>
    [...html.matchAll(/<a [^>]*href="([^"]*)"/g)].flatMap(([, href = ""]) => {
      if (/^\w+:/.test(href)) return [];
      const { pathname, hash } = new URL(href, `file://${page}`);
      const found = ids.get(pathname);
      const isThere =
        hash === ""
          ? found !== undefined || isFile(join(folder, pathname))
          : found?.has(decodeURIComponent(hash.slice(1))) === true;
      return isThere ? [] : [`${page} → ${pathname}${hash}`];
    }),
  );
}

const isFile = (path: string): boolean => statSync(path, { throwIfNoEntry: false })?.isFile() === true;

function idsOf(html: string): ReadonlySet<string> {
  return new Set([...html.matchAll(/ id="([^"]+)"/g)].map(([, id = ""]) => id));
}

function addressOf(file: string): string {
  return `/${file}`.replace(/(\/index)?\.html$/, (_, index) => (index === undefined ? "" : "/"));
}
