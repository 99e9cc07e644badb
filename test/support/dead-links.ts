import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { anchorOf } from "../../tools/site/anchors.js";
import { filesAddress, picturesAddress } from "../../tools/site/manifest.js";

/** The text of a file by its path, something empty for a folder, `undefined` where nothing is there. */
export type Files = (path: string) => string | undefined;

export function filesIn(folder: string): Files {
  return (path) => {
    const file = join(folder, path);
    if (!existsSync(file)) return undefined;
    return statSync(file).isDirectory() ? "" : readFileSync(file, "utf8");
  };
}

/**
 * The links and pictures of a Markdown file that lead nowhere for those who have it with the files beside it. Addresses of this
 * repository lead to its files as they are here; of others nothing is known but that they are https.
 */
export function deadLinks(markdown: string, beside: Files, repository: Files): string[] {
  return targetsIn(markdown).filter((target) => {
    const [address = "", anchor] = target.split("#");
    const own = [filesAddress, picturesAddress].find((start) => address.startsWith(`${start}/`));
    if (own === undefined && /^\w+:/.test(address)) return !address.startsWith("https://");
    const text = own === undefined ? beside(address) : repository(address.slice(own.length + 1));
    const found = address === "" ? markdown : text;
    return found === undefined || (anchor !== undefined && !anchorsOf(found).has(anchor));
  });
}

/** Of inline links and pictures, of definitions, and of HTML. */
function targetsIn(markdown: string): string[] {
  const prose = withoutBlocks(markdown).replace(/`[^`\n]*`/g, "");
  return [...prose.matchAll(/\]\(([^)\s]*)[^)]*\)|^ {0,3}\[[^\]]+\]: *(\S+)|<\w[^>]* (?:href|src)="([^"]*)"/gm)].map(
    ([, inline, defined, inHtml]) => inline ?? defined ?? inHtml ?? "",
  );
}

/** Of headings, and of places that keep the address of a heading that is no longer there. */
function anchorsOf(markdown: string): ReadonlySet<string> {
  const places = withoutBlocks(markdown).matchAll(/^#+ (.*)$|<a id="([^"]+)">/gm);
  return new Set([...places].map(([, heading, id]) => id ?? anchorOf(heading ?? "")));
}

const withoutBlocks = (markdown: string): string => markdown.replace(/^```[\s\S]*?^```$/gm, "");
