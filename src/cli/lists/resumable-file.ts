import { type FileHandle, open, realpath, stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { counted } from "../../errors/counted.js";
import { InvalidArgumentError } from "../../errors/errors.js";
import { sha256Hex } from "../../verification/fingerprint.js";
import { type Progress, ProgressFile } from "./progress-file.js";
import { lockForRun } from "./run-lock.js";

/**
 * A file of records, and one that says how far it is good. After a kill at any moment the records after that are cut off and requested
 * again, so that none is lost or there twice. One run at a time has them.
 */
export class ResumableFile implements AsyncDisposable {
  readonly #handle: FileHandle;
  readonly #progressFile: ProgressFile;
  readonly #locks: readonly AsyncDisposable[];
  #progress: Progress;

  private constructor(
    handle: FileHandle,
    progressFile: ProgressFile,
    locks: readonly AsyncDisposable[],
    progress: Progress,
  ) {
    this.#handle = handle;
    this.#progressFile = progressFile;
    this.#locks = locks;
    this.#progress = progress;
  }

  /** @throws {InvalidArgumentError} where the files do not belong to one another, or to the query, or another run has them. */
  static async open(path: string, progressPath: string, query: string): Promise<ResumableFile> {
    const [out, canonical] = [await placeOf(path), await placeOf(progressPath)];
    if (out === canonical || out === ProgressFile.nextOf(canonical)) throw oneFile(path, progressPath);
    const handle = await openFile(path);
    const locks: AsyncDisposable[] = [];
    try {
      const { dev, ino } = await handle.stat({ bigint: true });
      const id = `${dev}:${ino}`;
      if (id === (await idOf(canonical))) throw oneFile(path, progressPath);
      locks.push(await lockForRun(id, path), await lockForRun(canonical, progressPath));
      const progressFile = await ProgressFile.open(canonical);
      const begun = { query, begun: `${resolve(path)} ${id}`, bytes: 0, records: 0 };
      const progress = await prepare(handle, progressFile, { path, progressPath, begun });
      return new ResumableFile(handle, progressFile, locks, progress);
    } catch (error) {
      await handle.close();
      for (const lock of locks) await lock[Symbol.asyncDispose]();
      throw error;
    }
  }

  get after(): string | undefined {
    return this.#progress.after;
  }

  get records(): number {
    return this.#progress.records;
  }

  /** Appends a page, and stores that it is there: in this order, each on the disk before the next. */
  async append(text: string, records: number, after: string): Promise<void> {
    const bytes = Buffer.from(text);
    const { query, bytes: start } = this.#progress;
    // A run of another machine, which no lock of this one keeps away.
    await this.#progressFile.assertUnchanged();
    await writeAll(this.#handle, bytes, start);
    await this.#handle.sync();
    const tail = bytes.subarray(-longestTail);
    // A page without a record leaves the end as it is.
    const { tailBytes, tailSha256 } =
      tail.length === 0 ? this.#progress : { tailBytes: tail.length, tailSha256: sha256Hex(tail) };
    const counts = { bytes: start + bytes.length, records: this.records + records };
    this.#progress = { query, after, ...counts, tailBytes, tailSha256 };
    await this.#progressFile.write(this.#progress);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#handle.close();
    for (const lock of this.#locks) await lock[Symbol.asyncDispose]();
  }
}

interface Files {
  readonly path: string;
  readonly progressPath: string;
  /** What is stored where nothing has been written. */
  readonly begun: Progress & { readonly begun: string };
}

/** Cuts off what is not known to be good. Until here no file has been changed. */
async function prepare(handle: FileHandle, progressFile: ProgressFile, files: Files): Promise<Progress> {
  const { path, progressPath, begun } = files;
  const { size } = await handle.stat();
  const { progress } = progressFile;
  if (progress === undefined || progress.bytes === 0) {
    // An earlier release has stored the path alone.
    const isBegun = progress?.begun === begun.begun || progress?.begun === resolve(path);
    if (size > 0 && !isBegun) {
      throw new InvalidArgumentError(`${path} is not empty, and ${progressPath} does not say how far it is good`);
    }
    await handle.truncate(0);
    await progressFile.write(begun);
    return begun;
  }
  if (progress.query !== begun.query) {
    throw new InvalidArgumentError(
      `${progressPath} belongs to another list: ${progress.query}, and not ${begun.query}`,
    );
  }
  if (!(await endsAsWritten(handle, progress))) {
    throw new InvalidArgumentError(
      `${path} has ${counted(size, "byte")}, and not at their end what ${progressPath} says of the first ${progress.bytes}: it was changed since`,
    );
  }
  await handle.truncate(progress.bytes);
  return progress;
}

/** What was written last stands before the place up to which the file is good, which a shorter file doesn't reach. */
async function endsAsWritten(handle: FileHandle, { bytes, tailBytes = 1, tailSha256 }: Progress): Promise<boolean> {
  const tail = Buffer.alloc(tailBytes);
  await handle.read(tail, 0, tailBytes, bytes - tailBytes);
  // An earlier release has stored no digest.
  return tail.at(-1) === lineFeed && (tailSha256 === undefined || sha256Hex(tail) === tailSha256);
}

const lineFeed = 10;
const longestTail = 65_536;

/** Made where it is not there, for its owner alone; written at positions, which files that are opened for appending don't know. */
async function openFile(path: string): Promise<FileHandle> {
  await (await open(path, "a", 0o600)).close();
  const handle = await open(path, "r+");
  if ((await handle.stat()).isFile()) return handle;
  await handle.close();
  throw new InvalidArgumentError(`${path} is no file`);
}

/** The path of the file itself, once all links are followed; of one that is not there, the path it will have. */
async function placeOf(path: string): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    // What else is wrong there, opening it says.
    return join(await realpath(dirname(path)), basename(path));
  }
}

async function idOf(path: string): Promise<string | undefined> {
  try {
    const { dev, ino } = await stat(path, { bigint: true });
    return `${dev}:${ino}`;
  } catch {
    return undefined;
  }
}

function oneFile(path: string, progressPath: string): InvalidArgumentError {
  return new InvalidArgumentError(`--out ${path} and --resume ${progressPath} would be one file`);
}

async function writeAll(handle: FileHandle, bytes: Uint8Array, start: number): Promise<void> {
  for (let written = 0; written < bytes.length; ) {
    const { bytesWritten } = await handle.write(bytes, written, bytes.length - written, start + written);
    written += bytesWritten;
  }
}
