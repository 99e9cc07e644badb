import { type FileHandle, open, readFile, rename } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { counted } from "../../errors/counted.js";
import { InvalidArgumentError } from "../../errors/errors.js";

/** How far a list has been written. */
interface Progress {
  readonly version: 1;
  /** What was asked for, so that nothing else is continued. */
  readonly query: string;
  /** Absent while nothing has been written. */
  readonly after?: string;
  /** Where nothing has been written: the file that is this command's, whatever a call that was killed has left in it. */
  readonly begun?: string;
  /** The length of the file up to there. */
  readonly bytes: number;
  readonly records: number;
}

/**
 * A file of records, and one that says how far it is good. After a kill at any moment the records behind that are cut off and requested
 * again, so that none is lost or there twice.
 */
export class ResumableFile implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #progressPath: string;
  readonly #query: string;
  #progress: Progress;

  private constructor(handle: FileHandle, progressPath: string, query: string, progress: Progress) {
    this.#handle = handle;
    this.#progressPath = progressPath;
    this.#query = query;
    this.#progress = progress;
  }

  /** @throws {InvalidArgumentError} where the files do not belong to one another, or to the query. */
  static async open(path: string, progressPath: string, query: string): Promise<ResumableFile> {
    const progress = await readProgress(progressPath);
    if (progress === undefined || progress.bytes === 0) {
      const begun = resolve(path);
      const handle = await openNew(path, progressPath, progress?.begun === begun);
      const none: Progress = { version: 1, query, bytes: 0, records: 0, begun };
      await replace(progressPath, JSON.stringify(none));
      return new ResumableFile(handle, progressPath, query, none);
    }
    if (progress.query !== query) {
      throw new InvalidArgumentError(`${progressPath} belongs to another list: ${progress.query}, and not ${query}`);
    }
    const handle = await open(path, "r+");
    const { size } = await handle.stat();
    if (size < progress.bytes) {
      await handle.close();
      throw new InvalidArgumentError(
        `${path} has ${counted(size, "byte")}, and ${progressPath} says ${progress.bytes}: it was changed since`,
      );
    }
    await handle.truncate(progress.bytes);
    return new ResumableFile(handle, progressPath, query, progress);
  }

  /** Where to continue. */
  get after(): string | undefined {
    return this.#progress.after;
  }

  get records(): number {
    return this.#progress.records;
  }

  /** Appends a page, and stores that it is there: in this order, each on the disk before the next. */
  async append(text: string, records: number, after: string): Promise<void> {
    const bytes = Buffer.from(text);
    const start = this.#progress.bytes;
    await writeAll(this.#handle, bytes, start);
    await this.#handle.sync();
    const progress: Progress = {
      version: 1,
      query: this.#query,
      after,
      bytes: start + bytes.length,
      records: this.records + records,
    };
    await replace(this.#progressPath, JSON.stringify(progress));
    this.#progress = progress;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#handle.close();
  }
}

async function openNew(path: string, progressPath: string, isBegun: boolean): Promise<FileHandle> {
  // Made where it is not there; written at positions, which files that are opened for appending don't know.
  await (await open(path, "a")).close();
  const handle = await open(path, "r+");
  const { size } = await handle.stat();
  if (isBegun) await handle.truncate(0);
  if (isBegun || size === 0) return handle;
  await handle.close();
  throw new InvalidArgumentError(`${path} is not empty, and ${progressPath} does not say how far it is good`);
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, start: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, start + written);
    written += bytesWritten;
  }
}

/** The old text or the new one, whatever happens in between. */
async function replace(path: string, text: string): Promise<void> {
  const next = `${path}.next`;
  const handle = await open(next, "w");
  try {
    await handle.writeFile(text);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(next, path);
  const folder = await open(dirname(path), "r");
  // Some file systems can't.
  await folder.sync().catch(() => {});
  await folder.close();
}

async function readProgress(path: string): Promise<Progress | undefined> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    const progress = JSON.parse(text) as Progress;
    const isBegun = progress.bytes === 0 || typeof progress.after === "string";
    if (progress.version === 1 && isBegun && Number.isSafeInteger(progress.bytes)) return progress;
  } catch {}
  throw new InvalidArgumentError(`${path} is none that this command has written`);
}
