import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { llms } from "../site/llms.js";
import { filesAddress, picturesAddress } from "../site/manifest.js";
import { linked } from "../site/staging.js";

/** What somebody reads beside a stack trace, maybe where nothing can be fetched. See docs/decisions/0085. */
const shipped: readonly string[] = ["errors", "error-codes"];

/** Writes the pages that are in the package, and `llms.txt`, which names every page: the others by their addresses. */
export function writeDocs(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const address = (path: string) => {
    const name = shipped.find((page) => path === `docs/${page}.md`);
    return name === undefined ? `${filesAddress}/${path}` : `${name}.md`;
  };
  for (const name of shipped) {
    const text = readFileSync(`docs/${name}.md`, "utf8");
    writeFileSync(join(folder, `${name}.md`), linked(text, "docs", address));
  }
  // Programs want the Markdown, and not the page around it.
  const list = llms(({ name, source = `docs/${name}.md` }) =>
    shipped.includes(name) ? `${name}.md` : `${picturesAddress}/${source}`,
  );
  writeFileSync(join(folder, "llms.txt"), list);
}
