import { readFileSync } from "node:fs";
import { chapters } from "./pages.js";

/** `npx tsx tools/site/words.ts`: how many words each page asks its readers to read, code left out, and the middle of the guides and of all. */
const counted = Object.entries(chapters).map(([chapter, pages]) => ({
  chapter,
  pages: pages.map(({ name, source }) => ({ name, words: wordsIn(readFileSync(source ?? `docs/${name}.md`, "utf8")) })),
}));

for (const { chapter, pages } of counted) {
  console.log(chapter);
  for (const { name, words } of pages) console.log(`${String(words).padStart(6)}  ${name}`);
}
const guides = counted.find(({ chapter }) => chapter === "Guides")?.pages ?? [];
const all = counted.flatMap(({ pages }) => pages);
console.log(`the middle page: ${middle(all)} words; of the guides: ${middle(guides)}`);

function wordsIn(markdown: string): number {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/\]\([^)]*\)|<[^>]*>|^\|[-|]+$/gm, " ");
  return prose.match(/[\p{L}\p{N}][^\s|]*/gu)?.length ?? 0;
}

function middle(pages: readonly { readonly words: number }[]): number {
  const sorted = pages.map(({ words }) => words).sort((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}
