import { readFileSync } from "node:fs";
import { chapters } from "./pages.js";

/** `npx tsx tools/site/words.ts`: how many words each page has, without code. */
let total = 0;
for (const [chapter, pages] of Object.entries(chapters)) {
  console.log(chapter);
  for (const { name, source } of pages) {
    const words = wordsIn(readFileSync(source ?? `docs/${name}.md`, "utf8"));
    console.log(`${String(words).padStart(6)}  ${name}`);
    total += words;
  }
}
console.log(`${String(total).padStart(6)}  in all`);

function wordsIn(markdown: string): number {
  const prose = markdown.replaceAll(/^```[\s\S]*?^```$/gm, "").replaceAll(/\]\([^)]*\)|<[^>]*>|^\|[-|]+$/gm, " ");
  return prose.match(/[\p{L}\p{N}][^\s|]*/gu)?.length ?? 0;
}
