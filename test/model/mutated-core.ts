import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import type { Mutation } from "./mutations.js";
import type { Next } from "./world.js";

const core = fileURLToPath(new URL("../../src/flows/core/", import.meta.url));

/** The text of a file of the core after the mutation's edits. @throws if an edit doesn't fit exactly once. */
export async function editedFiles({ rule, edits = [] }: Mutation): Promise<Map<string, string>> {
  const texts = new Map<string, string>();
  for (const [file, find, replace] of edits) {
    const text = texts.get(file) ?? (await readFile(join(core, file), "utf8"));
    const fits = text.split(find).length - 1;
    if (fits !== 1) throw new Error(`${rule}: the text occurs ${fits} times in ${file}: ${find}`);
    texts.set(
      file,
      text.replace(find, () => replace),
    );
  }
  return texts;
}

/** `next` of a copy of the core with the mutation's edits. */
export async function mutatedNext(mutation: Mutation): Promise<Next> {
  const root = await mkdtemp(join(tmpdir(), "flow-core-"));
  const folder = join(root, "flows/core");
  try {
    await cp(core, folder, { recursive: true });
    await writeFile(join(root, "package.json"), '{ "type": "module" }');
    // The core imports nothing else.
    await symlink(join(core, "../../money.ts"), join(root, "money.ts"));
    for (const [file, text] of await editedFiles(mutation)) await writeFile(join(folder, file), text);
    const { next } = (await import(pathToFileURL(join(folder, "next.ts")).href)) as { next: Next };
    return next;
  } finally {
    await rm(root, { recursive: true });
  }
}
