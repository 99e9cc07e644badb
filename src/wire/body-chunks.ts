import { decodeBody } from "./decode-body.js";

/**
 * A body as it arrives. Chunks that would cost more memory than they hold are joined at once: a body in chunks of one byte
 * takes a hundred times its size otherwise. The usual body of one chunk is never copied.
 */
export class BodyChunks {
  bytes = 0;
  readonly #chunks: Uint8Array[] = [];
  /** Where small chunks go: they are joined between `#start` and `#end`. */
  #block: Uint8Array | undefined;
  #start = 0;
  #end = 0;

  push(chunk: Uint8Array): void {
    const isFirst = this.bytes === 0;
    this.bytes += chunk.length;
    if (isFirst || !isWasteful(chunk)) {
      this.#seal();
      this.#chunks.push(chunk);
    } else {
      this.#join(chunk);
    }
  }

  /** What has arrived, as text. */
  decode(): ReturnType<typeof decodeBody> {
    this.#seal();
    return decodeBody(this.#chunks);
  }

  #join(chunk: Uint8Array): void {
    for (let start = 0; start < chunk.length; ) {
      const block = this.#blockWithRoom();
      const part = chunk.subarray(start, start + block.length - this.#end);
      block.set(part, this.#end);
      this.#end += part.length;
      start += part.length;
    }
  }

  #blockWithRoom(): Uint8Array {
    if (this.#block !== undefined && this.#end < this.#block.length) return this.#block;
    this.#seal();
    this.#block = new Uint8Array(Math.min(Math.max(this.bytes, smallestBlock), largestBlock));
    this.#start = 0;
    this.#end = 0;
    return this.#block;
  }

  /** What is joined so far becomes a chunk; the rest of the block is used on. */
  #seal(): void {
    if (this.#block === undefined || this.#start === this.#end) return;
    this.#chunks.push(this.#block.subarray(this.#start, this.#end));
    this.#start = this.#end;
  }
}

const smallestBlock = 4096;
const largestBlock = 65_536;

/** A chunk keeps the whole memory that it was read into. */
function isWasteful(chunk: Uint8Array): boolean {
  return chunk.length < 1024 || chunk.length * 2 < chunk.buffer.byteLength;
}
