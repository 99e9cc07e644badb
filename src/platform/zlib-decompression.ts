import type { Platform } from "./platform.js";

/** Decompression by Node's zlib, in the thread pool. */
export const decompression: Platform["decompression"] = {
  get accepted() {
    return readsZstd() ? "gzip, br, zstd" : "gzip, br";
  },
  decode(body, coding, maxBytes) {
    const { gunzip, brotliDecompress, zstdDecompress, constants } = zlib();
    const options = { maxOutputLength: maxBytes };
    return new Promise((resolve) => {
      const done: Done = (error, bytes) => resolve(error === null ? bytes : problemOf(error));
      if (body.length === 0) resolve(body);
      else if (coding === "gzip") gunzip(body, options, done);
      else if (coding === "br") brotliDecompress(body, options, done);
      // At most 8 MiB of memory (RFC 9659), while zstd itself allows 128.
      else if (coding === "zstd" && readsZstd())
        zstdDecompress?.(body, { ...options, params: { [constants.ZSTD_d_windowLogMax]: 23 } }, done);
      else resolve("encoded");
    });
  },
};

type Done = (error: NodeJS.ErrnoException | null, bytes: Uint8Array) => void;

function problemOf({ code }: NodeJS.ErrnoException): "cut-short" | "encoded" | "too-large" {
  if (code === "ERR_BUFFER_TOO_LARGE") return "too-large";
  return code === "Z_BUF_ERROR" ? "cut-short" : "encoded";
}

/** Node 20 has no zstd; Node 22 and Bun take half of a body for the whole one. */
function readsZstd(): boolean {
  try {
    zlib().zstdDecompressSync?.(zstdWithoutEnd);
    return false;
  } catch {
    return true;
  }
}

/** The magic number of a frame, and no frame. */
const zstdWithoutEnd = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd);

/** zlib of Node 22.15 and later has zstd. */
type Zlib = typeof import("node:zlib") & {
  readonly zstdDecompress?: (bytes: Uint8Array, options: object, done: Done) => void;
  readonly zstdDecompressSync?: (bytes: Uint8Array) => Uint8Array;
  readonly constants: { readonly ZSTD_d_windowLogMax: number };
};

/** Loaded with the first list or the first body that is encoded. */
function zlib(): Zlib {
  return process.getBuiltinModule("node:zlib") as Zlib;
}
