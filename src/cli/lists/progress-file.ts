import { createHash } from "node:crypto";
import { lstat, open, readFile, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { InvalidArgumentError } from "../../errors/errors.js";

export interface Progress {
  /** What was asked for, so that nothing else is continued. */
  readonly query: string;
  /** Absent while nothing has been written. */
  readonly after?: string;
  /** Where nothing has been written: the file that is this command's, whatever a call that was killed has left in it. */
  readonly begun?: string;
  /** The length of the file up to there. */
  readonly bytes: number;
  readonly records: number;
  /** The last bytes before that, at most 65,536 of them: how many, and their digest. */
  readonly tailBytes?: number | undefined;
  readonly tailSha256?: string | undefined;
}

/** Where progress is stored, so that after any kill the file has the old one or the new one. */
export class ProgressFile {
  readonly #path: string;
  /** What the file has, as far as this run knows. */
  #text: string | undefined;
  readonly progress: Progress | undefined;

  private constructor(path: string, text: string | undefined) {
    this.#path = path;
    this.#text = text;
    this.progress = text === undefined ? undefined : parse(text, path);
  }

  /** @throws {InvalidArgumentError} where it is not as this command has written it, or something else is in its way. */
  static async open(path: string): Promise<ProgressFile> {
    const file = new ProgressFile(path, await readIfThere(path));
    await clearNext(ProgressFile.nextOf(path));
    return file;
  }

  /** The file that becomes this one. */
  static nextOf(path: string): string {
    return `${path}.next`;
  }

  async write(progress: Progress): Promise<void> {
    const text = JSON.stringify({ version: 2, ...progress, check: checkOf(progress) });
    const next = ProgressFile.nextOf(this.#path);
    // Never through a link that somebody has put there.
    const handle = await open(next, "wx", 0o600);
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(next, this.#path);
    this.#text = text;
    const folder = await open(dirname(this.#path), "r");
    // Some file systems can't.
    await folder.sync().catch(() => {});
    await folder.close();
  }

  /** @throws {InvalidArgumentError} where somebody else has written it. */
  async assertUnchanged(): Promise<void> {
    if ((await readIfThere(this.#path)) === this.#text) return;
    throw new InvalidArgumentError(`${this.#path} was changed while this run went by it: is there another run?`);
  }
}

function parse(text: string, path: string): Progress {
  try {
    const { version, check, ...progress } = JSON.parse(text) as Progress & {
      readonly version: number;
      readonly check?: string;
    };
    const isWhole = progress.bytes === 0 || typeof progress.after === "string";
    // Version 1, of an earlier release, has no digest.
    const isIntact = version === 1 || (version === 2 && check === checkOf(progress));
    if (isWhole && isIntact && Number.isSafeInteger(progress.bytes)) return progress;
  } catch {}
  throw new InvalidArgumentError(`${path} is none that this command has written, or was changed since`);
}

/** Editing the file makes it useless, rather than a list with gaps. */
function checkOf({ query, after, begun, bytes, records, tailBytes, tailSha256 }: Progress): string {
  const facts = JSON.stringify([query, after, begun, bytes, records, tailBytes, tailSha256]);
  return createHash("sha256").update(facts).digest("hex");
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

const begin = '{"version":';

/** A run that was killed may have left it behind. Whatever else is there stays. */
async function clearNext(path: string): Promise<void> {
  // What else is wrong there, the first write says.
  const found = await lstat(path).catch(() => undefined);
  if (found === undefined) return;
  const isOwn =
    found.isFile() && found.nlink === 1 && begin.startsWith((await readFile(path, "utf8")).slice(0, begin.length));
  if (!isOwn) throw new InvalidArgumentError(`${path} is in the way, and none that this command has written`);
  await rm(path);
}
