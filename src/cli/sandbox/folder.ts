import { readdirSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { mkdir, mkdtemp, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { InvalidArgumentError } from "../../core/errors.js";

/** Files of a sandbox, for this user alone, and only while the sandbox runs. */
export interface Folder extends Disposable {
  readonly path: string;
  /** @returns the path of the file. */
  write(name: string, content: string | object): string;
}

/** In a folder that a sandbox writes to. A sandbox that was killed leaves it behind. */
const marker = ".cross-border-sandbox";

/**
 * @param folder by default a new temporary one.
 * @throws {InvalidArgumentError} if the folder has files that are not a sandbox's: they may be settings of the real service.
 */
export async function openFolder(folder?: string): Promise<Folder> {
  const isNew = folder === undefined || (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
  const path = folder === undefined ? await mkdtemp(join(tmpdir(), "cross-border-sandbox-")) : resolve(folder);
  const present = isNew ? [] : await readdir(path);
  if (present.length > 0 && !present.includes(marker)) {
    throw new InvalidArgumentError(
      `${folder} has files that are not a sandbox's, such as ${present[0]}. Choose another folder`,
    );
  }
  const written: string[] = [];
  const write = (name: string, content: string | object): string => {
    const file = join(path, name);
    // A file of a sandbox that was killed may be there, with other rights.
    rmSync(file, { force: true });
    written.push(file);
    const text = typeof content === "string" ? content : `${JSON.stringify(content, null, 2)}\n`;
    writeFileSync(file, text, { flag: "wx", mode: 0o600 });
    return file;
  };
  /** Other files, and their folder, stay. */
  const remove = (): void => {
    for (const file of written) rmSync(file, { force: true });
    if (isNew && readdirSync(path).length === 0) rmdirSync(path);
  };
  write(marker, "");
  // Also if the process ends because its output can't be written.
  process.once("exit", remove);
  return {
    path,
    write,
    [Symbol.dispose]() {
      process.removeListener("exit", remove);
      remove();
    },
  };
}
