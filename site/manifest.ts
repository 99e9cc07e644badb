import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const { version, repository } = JSON.parse(
  readFileSync(fileURLToPath(new URL("../package.json", import.meta.url)), "utf8"),
) as { readonly version: string; readonly repository: string };

export { version };

/** Where readers find the files that are no pages. */
export const filesAddress = `https://github.com/${repository.replace(/^github:/, "")}/blob/main`;
