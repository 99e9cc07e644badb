import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { llms } from "./llms.js";
import { filesAddress } from "./manifest.js";
import { pages } from "./pages.js";

/**
 * Writes the pages as the site has them into a folder: the README is its overview, and links to files that are no pages lead to
 * the repository.
 */
export function stage(root: string, folder: string): void {
  const docs = join(root, "docs");
  mkdirSync(join(folder, "public"), { recursive: true });
  cpSync(join(docs, "images"), join(folder, "images"), { recursive: true });
  // Pages that link a picture, instead of showing it, look for it at its address.
  cpSync(join(docs, "images"), join(folder, "public/images"), { recursive: true });
  for (const name of names(docs)) write(folder, name, linked(readFileSync(join(docs, `${name}.md`), "utf8"), "docs"));
  // The site asks no other host for anything, not for badges either.
  const readme = readFileSync(join(root, "README.md"), "utf8").replaceAll(/^\[!\[.*\n+/gm, "");
  write(folder, "overview", linked(readme, "."));
  write(folder, "index", linked(readFileSync(join(root, "tools/site/home.md"), "utf8"), "tools/site"));
  writeFileSync(
    join(folder, "public/llms.txt"),
    llms(({ name }) => `/${name}.md`),
  );
}

/** The documents, each of which has to be a page. */
function names(docs: string): string[] {
  const found = readdirSync(docs)
    .filter((file) => file.endsWith(".md"))
    .map((file) => file.slice(0, -".md".length));
  const known = new Set(pages.map(({ name }) => name));
  const missing = found.filter((name) => !known.has(name));
  if (missing.length > 0) throw new Error(`tools/site/pages.ts does not name ${missing.join(", ")}`);
  return found;
}

function write(folder: string, name: string, text: string): void {
  writeFileSync(join(folder, `${name}.md`), grouped(text));
}

/** Blocks of code with a `[label]` that follow one another are alternatives, and become tabs. */
function grouped(text: string): string {
  return text.replaceAll(
    /(?:^```\w+ \[[^\]\n]+\]\n[\s\S]*?^```\n\n?){2,}/gm,
    (blocks) => `::: code-group\n${blocks}:::\n\n`,
  );
}

/**
 * The text with the links of a document in a folder of the repository as links of the site, or of wherever `toAddress` leads from the path
 * of a file.
 */
export function linked(
  text: string,
  from: "." | "docs" | "tools/site",
  toAddress: (path: string) => string = addressOf,
): string {
  return text.replaceAll(/\]\((?!https?:|#)([^)\s]+)\)/g, (_, target: string) => {
    const [path = "", anchor] = new URL(target, `file:///${from}/`).pathname.slice(1).split("#").concat(hashOf(target));
    return `](${toAddress(path)}${anchor ?? ""})`;
  });
}

const hashOf = (target: string): string[] => (target.includes("#") ? [target.slice(target.indexOf("#"))] : []);

function addressOf(path: string): string {
  if (path === "README.md") return "./overview.md";
  if (path.startsWith("docs/images/")) return `./${path.slice("docs/".length)}`;
  if (path.startsWith("docs/") && !path.startsWith("docs/decisions/")) return `./${path.slice("docs/".length)}`;
  return `${filesAddress}/${path}`;
}
