import { randomBytes } from "node:crypto";
import { closeSync, fsyncSync, ftruncateSync, openSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { InvalidArgumentError } from "../../core/errors.js";

/** A file that gets its name when it is whole. Until then its text is in a file beside it, which only its owner can read. */
export class OutFile {
  readonly #path: string;
  readonly partPath: string;
  readonly #file: number;
  #bytes = 0;

  /** @throws {InvalidArgumentError} if something else than a file has this name. */
  constructor(path: string) {
    // A rename would replace a device, too.
    if (statSync(path, { throwIfNoEntry: false })?.isFile() === false) {
      throw new InvalidArgumentError(`--out ${path}: this is not a file`);
    }
    this.#path = path;
    this.partPath = `${path}.${randomBytes(4).toString("hex")}.part`;
    this.#file = openSync(this.partPath, "wx", 0o600);
  }

  write(text: string): void {
    try {
      writeFileSync(this.#file, text);
    } catch (error) {
      // A full disk can leave half a record.
      ftruncateSync(this.#file, this.#bytes);
      throw error;
    }
    this.#bytes += Buffer.byteLength(text);
  }

  finish(): void {
    fsyncSync(this.#file);
    closeSync(this.#file);
    renameSync(this.partPath, this.#path);
  }

  keepPart(): void {
    closeSync(this.#file);
  }

  discard(): void {
    closeSync(this.#file);
    rmSync(this.partPath);
  }
}
