import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const { version, repository } = JSON.parse(
  readFileSync(fileURLToPath(new URL("../../package.json", import.meta.url)), "utf8"),
) as { readonly version: string; readonly repository: string };

export { version };

const name = repository.replace(/^github:/, "");

export const repositoryAddress = `https://github.com/${name}`;

/** Where readers propose a change of a file. */
export const editAddress = `${repositoryAddress}/edit/main`;

/** Where readers find the files that are no pages. */
export const filesAddress = `${repositoryAddress}/blob/main`;

/** Where pages that are read elsewhere, such as the README at npm, find their pictures. */
export const picturesAddress = `https://raw.githubusercontent.com/${name}/main`;
