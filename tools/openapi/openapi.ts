import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readDocstrings } from "./docstrings.js";
import { openApiDocument } from "./document.js";

/** Compares `openapi.json` with what the rows of operations say; with `--write`, writes it. */
const path = fileURLToPath(new URL("../../openapi.json", import.meta.url));
const docs = readDocstrings(fileURLToPath(new URL("../../src/resources", import.meta.url)));
const document = `${JSON.stringify(openApiDocument(docs), undefined, 2)}\n`;

if (process.argv.includes("--write")) {
  writeFileSync(path, document);
} else if (readFileSync(path, "utf8") !== document) {
  console.error("openapi.json is not what the rows of operations say. Run: npm run api");
  process.exitCode = 1;
}
