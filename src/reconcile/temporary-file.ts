import { CrossBorderError } from "../errors/errors.js";
import { uniqueId } from "../platform/unique-id.js";

export interface Piece {
  readonly position: number;
  readonly length: number;
}

/**
 * A file for what does not fit into memory. What is in it is encrypted with a key that is nowhere else than in this object, and where the
 * operating system allows it, the file has no name once it is open: nothing is left of it when the process ends, however it ends.
 */
export class TemporaryFile {
  readonly #file: FileHandle;
  readonly #key: SecretKey;
  readonly #remove: () => Promise<void>;
  #length = 0;
  #pieces = 0;

  private constructor(file: FileHandle, key: SecretKey, remove: () => Promise<void>) {
    this.#file = file;
    this.#key = key;
    this.#remove = remove;
  }

  /** @throws {CrossBorderError} with the code `temporary_file_failed`. */
  static async open(directory: string | undefined): Promise<TemporaryFile> {
    return translated("opened", async () => {
      const { fs, os, path } = nodeModules();
      const name = path.join(directory ?? os.tmpdir(), `cross-border-payments-${uniqueId()}`);
      const file = await fs.open(name, "wx+", 0o600);
      const key = await globalThis.crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, false, [
        "encrypt",
        "decrypt",
      ]);
      // Windows keeps the name of an open file.
      await fs.unlink(name).catch(() => {});
      return new TemporaryFile(file, key, () => fs.rm(name, { force: true }));
    });
  }

  /** @throws {CrossBorderError} with the code `temporary_file_failed`, such as where the disk is full. */
  append(text: string): Promise<Piece> {
    return translated("written", async () => {
      const iv = ivOf(this.#pieces++);
      const data = new TextEncoder().encode(text);
      const sealed = new Uint8Array(await globalThis.crypto.subtle.encrypt({ name: "AES-GCM", iv }, this.#key, data));
      const bytes = new Uint8Array(iv.length + sealed.length);
      bytes.set(iv);
      bytes.set(sealed, iv.length);
      const piece = { position: this.#length, length: bytes.length };
      this.#length += bytes.length;
      for (let written = 0; written < bytes.length; ) {
        const { bytesWritten } = await this.#file.write(
          bytes,
          written,
          bytes.length - written,
          piece.position + written,
        );
        written += bytesWritten;
      }
      return piece;
    });
  }

  /** @throws {CrossBorderError} with the code `temporary_file_failed`, also where the file is not as it was written. */
  read({ position, length }: Piece): Promise<string> {
    return translated("read", async () => {
      const bytes = new Uint8Array(length);
      for (let read = 0; read < length; ) {
        const { bytesRead } = await this.#file.read(bytes, read, length - read, position + read);
        if (bytesRead === 0) throw new Error("the file is shorter than what was written");
        read += bytesRead;
      }
      const iv = bytes.subarray(0, ivLength);
      const sealed = bytes.subarray(ivLength);
      return new TextDecoder().decode(
        await globalThis.crypto.subtle.decrypt({ name: "AES-GCM", iv }, this.#key, sealed),
      );
    });
  }

  async close(): Promise<void> {
    await this.#file.close();
    await this.#remove();
  }
}

type FileHandle = Awaited<ReturnType<ReturnType<typeof nodeModules>["fs"]["open"]>>;
type SecretKey = Parameters<typeof globalThis.crypto.subtle.encrypt>[1];

const ivLength = 12;

/** Never the same one twice for this key: pieces are counted. */
function ivOf(piece: number): Uint8Array<ArrayBuffer> {
  const iv = new Uint8Array(ivLength);
  new DataView(iv.buffer).setFloat64(0, piece);
  return iv;
}

/** Without imports, so that a bundle for the web does not look for them. */
function nodeModules() {
  const { process } = globalThis;
  if (process?.getBuiltinModule === undefined) {
    throw new Error("this platform has no files: compare shorter periods, or raise maxInMemory");
  }
  return {
    fs: process.getBuiltinModule("node:fs").promises,
    os: process.getBuiltinModule("node:os"),
    path: process.getBuiltinModule("node:path"),
  };
}

async function translated<T>(what: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const code: unknown = Reflect.get(Object(cause), "code");
    const reason = typeof code === "string" ? ` (${code})` : "";
    throw new CrossBorderError(
      `the temporary file that a large comparison needs could not be ${what}${reason}: look at the room and the rights in its directory, or name another one in temporaryDirectory`,
      { code: "temporary_file_failed", cause },
    );
  }
}
