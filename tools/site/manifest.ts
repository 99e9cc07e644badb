import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const { version, repository } = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../package.json", import.meta.url)), "utf8"),
) as { readonly version: string; readonly repository: string };

export { version };

const name = repository.replace(/^github:/, "");

/** Where readers find the files that are no pages. */
export const filesAddress = `https://github.com/${name}/blob/main`;

/** Where pages that are read elsewhere, such as the README at npm, find their pictures. */
export const picturesAddress = `https://raw.githubusercontent.com/${name}/main`;
