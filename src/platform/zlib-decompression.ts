import type { Transform } from "node:stream";
import type { Decoder, DecoderListener, Decompression } from "./decompression.js";

/** Decompression by Node's zlib, which works in the thread pool. */
export const decompression: Decompression = zlibDecompression();

function zlibDecompression(): Decompression {
  let readsZstd: boolean | undefined;
  const isKnown = (coding: string): boolean => {
    if (coding === "zstd") readsZstd ??= canReadZstd();
    return openers.has(coding) && (coding !== "zstd" || readsZstd === true);
  };
  return {
    get accepted() {
      return isKnown("zstd") ? "gzip, br, zstd" : "gzip, br";
    },
    open(codings, maxStageBytes, listener) {
      return codings.every(isKnown) ? new ZlibDecoder(codings, maxStageBytes, listener) : undefined;
    },
  };
}

/** Node 20 has no zstd; Node 22 and Bun take half of a body for the whole one, so that for them it counts as not known. */
function canReadZstd(): boolean {
  try {
    zlib().zstdDecompressSync?.(zstdWithoutEnd);
    return false;
  } catch {
    return true;
  }
}

/** The magic number of a frame, and no frame. */
const zstdWithoutEnd = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd);

type OpenStream = (firstByte: number | undefined) => Transform | undefined;

const openers: ReadonlyMap<string, OpenStream> = new Map<string, OpenStream>([
  ["gzip", () => zlib().createGunzip(options)],
  ["x-gzip", () => zlib().createGunzip(options)],
  ["br", () => zlib().createBrotliDecompress(options)],
  ["deflate", (firstByte) => (isBare(firstByte) ? zlib().createInflateRaw(options) : zlib().createInflate(options))],
  // At most 8 MiB of memory (RFC 9659), where zstd itself allows 128.
  ["zstd", () => zlib().createZstdDecompress?.({ ...options, params: { [zlib().constants.ZSTD_d_windowLogMax]: 23 } })],
]);

/** Room for a few reads, so that a connection seldom waits for the thread pool. */
const options = { chunkSize: 65_536, writableHighWaterMark: 262_144 };

/** "deflate" is the format of zlib (RFC 9110, 8.4.1.2), but some send it without its header, whose first byte ends in 8. */
function isBare(firstByte: number | undefined): boolean {
  return firstByte !== undefined && (firstByte & 0x0f) !== 8;
}

/** Its streams are opened with the first byte: a body that has none is empty, whatever its codings. */
class ZlibDecoder implements Decoder {
  readonly #codings: readonly string[];
  readonly #maxStageBytes: number;
  readonly #listener: DecoderListener;
  #streams: readonly Transform[] = [];
  #isOver = false;

  constructor(codings: readonly string[], maxStageBytes: number, listener: DecoderListener) {
    this.#codings = codings;
    this.#maxStageBytes = maxStageBytes;
    this.#listener = listener;
  }

  write(chunk: Uint8Array): boolean {
    if (this.#isOver || chunk.length === 0) return true;
    if (this.#streams.length === 0) this.#open(chunk[0]);
    return this.#streams[0]?.write(chunk) ?? true;
  }

  end(): void {
    if (this.#streams.length === 0) this.#listener.onEnd();
    else this.#streams[0]?.end();
  }

  destroy(): void {
    this.#isOver = true;
    for (const stream of this.#streams) stream.destroy();
  }

  /** The coding that was applied last comes off first. */
  #open(firstByte: number | undefined): void {
    this.#streams = this.#codings.toReversed().flatMap((coding, index) => {
      return openers.get(coding)?.(index === 0 ? firstByte : undefined) ?? [];
    });
    for (const stream of this.#streams) stream.on("error", (error) => this.#fail(problemOf(error)));
    this.#streams[0]?.on("drain", () => this.#listener.onDrain());
    const last = this.#streams.reduce((stage, next) => {
      let bytes = 0;
      stage.on("data", (chunk: Uint8Array) => {
        bytes += chunk.length;
        if (bytes > this.#maxStageBytes) this.#fail("too-large");
      });
      return stage.pipe(next);
    });
    last.on("data", (chunk: Uint8Array) => this.#isOver || this.#listener.onData(chunk));
    last.on("end", () => this.#isOver || this.#listener.onEnd());
  }

  #fail(problem: Parameters<DecoderListener["onError"]>[0]): void {
    if (this.#isOver) return;
    this.destroy();
    this.#listener.onError(problem);
  }
}

function problemOf(error: NodeJS.ErrnoException): "cut-short" | "encoded" {
  return error.code === "Z_BUF_ERROR" ? "cut-short" : "encoded";
}

/** zlib of Node 22.15 and later has zstd. */
type Zlib = typeof import("node:zlib") & {
  readonly createZstdDecompress?: (options: object) => Transform;
  readonly zstdDecompressSync?: (bytes: Uint8Array) => Uint8Array;
  readonly constants: { readonly ZSTD_d_windowLogMax: number };
};

/** Loaded with the first list or the first body that is encoded. */
function zlib(): Zlib {
  return process.getBuiltinModule("node:zlib") as Zlib;
}
