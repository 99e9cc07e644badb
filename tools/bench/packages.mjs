import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const [major, minor] = process.versions.node.split(".").map(Number);

/** The newest line of undici that this Node runs: npm would choose the same for the client. */
export const undiciName = major > 22 || (major === 22 && minor >= 19) ? "undici" : "undici-7";

/** Where the built client lies beside that undici, as npm would install the two. */
export const clientFolder = new URL("./.client/node_modules/cross-border-payments/", import.meta.url);

export const importUndici = () => import(undiciName);

export const importClient = () => import(new URL("dist/index.js", clientFolder).href);

/** The commit of release 0.3.0. The client must not be slower. */
export const commitBefore = "564773c6";

const folderBefore = join(tmpdir(), "cross-border-payments-bench", commitBefore);
/** Where that release is packed, and a folder whose programs find it. */
export const placesBefore = { folder: folderBefore, project: join(folderBefore, "project") };

export const importReleaseBefore = () =>
  import(pathToFileURL(join(placesBefore.project, "node_modules/cross-border-payments/dist/index.js")).href);

/** What a package calls its version. */
export function versionOf(name) {
  const folder = name === "cross-border-payments" ? clientFolder : new URL(`./node_modules/${name}/`, import.meta.url);
  return JSON.parse(readFileSync(fileURLToPath(new URL("package.json", folder)), "utf8")).version;
}
