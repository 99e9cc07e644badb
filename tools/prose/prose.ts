import { readdirSync, readFileSync } from "node:fs";
import { commentsOf, excessIn, type Pattern, patterns, proseOf } from "./patterns.js";

/** `npm run lint:prose`: checks documents and the comments in `src` against the limits of patterns.ts, and names the files to edit. */
const documents = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "AGENTS.md"],
  ...readdirSync("docs", { encoding: "utf8" }).map((file) => `docs/${file}`),
].filter((file) => file.endsWith(".md"));
const sources = readdirSync("src", { recursive: true, encoding: "utf8" })
  .filter((file) => file.endsWith(".ts"))
  .map((file) => `src/${file}`);

check(documents, proseOf, patterns);
// Comments are too short for the patterns that should occur often.
check(
  sources,
  commentsOf,
  patterns.filter(({ atMost }) => atMost !== undefined),
);

function check(files: readonly string[], textOf: (content: string) => string, applied: readonly Pattern[]): void {
  const texts = files.map((file) => textOf(readFileSync(file, "utf8")));
  for (const { pattern, rate, limit } of excessIn(texts, applied)) {
    console.error(`${pattern.name}: ${rate.toFixed(1)} per 10,000 words, ${limit}`);
    const counts = files.map((file, index) => ({ file, count: texts[index]?.match(pattern.matches)?.length ?? 0 }));
    const worst = counts.sort((one, other) => other.count - one.count).slice(0, 5);
    if (pattern.atMost !== undefined) {
      for (const { file, count } of worst) if (count > 0) console.error(`  ${file}: ${count}`);
    }
    process.exitCode = 1;
  }
}
