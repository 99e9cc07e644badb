import { readdirSync, readFileSync } from "node:fs";
import { excessIn, patterns, proseOf } from "./patterns.js";

/** `npm run lint:prose`: whether the documentation keeps to the limits of patterns.ts, and if not, which pages to edit. */
const files = [
  ...["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "AGENTS.md"],
  ...readdirSync("docs", { encoding: "utf8" }).map((file) => `docs/${file}`),
].filter((file) => file.endsWith(".md"));
const texts = files.map((file) => readFileSync(file, "utf8"));

for (const { name, rate, limit } of excessIn(texts)) {
  console.error(`${name}: ${rate.toFixed(1)} per 10,000 words, ${limit}`);
  const pattern = patterns.find((each) => each.name === name);
  if (pattern?.atMost !== undefined) {
    const counts = texts.map((text, index) => ({
      file: files[index] ?? "",
      count: proseOf(text).match(pattern.matches)?.length ?? 0,
    }));
    const worst = counts.sort((one, other) => other.count - one.count).slice(0, 5);
    for (const { file, count } of worst) if (count > 0) console.error(`  ${file}: ${count}`);
  }
  process.exitCode = 1;
}
