/** Turns the bytes of bodies into text. One for each transport. */
export class BodyDecoder {
  /** Bodies that arrive in several chunks are joined here: fresh memory for each page of records would cost as much as decoding it. */
  #workspace = new Uint8Array(0);

  /** The whole body as text, without a byte order mark. */
  decode(chunks: readonly Uint8Array[]): { readonly text: string; readonly broken?: "not-utf8" } {
    const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : this.#join(chunks);
    try {
      return { text: strictUtf8.decode(bytes) };
    } catch {
      return { text: lenientUtf8.decode(bytes), broken: "not-utf8" };
    }
  }

  /** All chunks as one, valid until the next call. */
  #join(chunks: readonly Uint8Array[]): Uint8Array {
    const size = chunks.reduce((sum, { length }) => sum + length, 0);
    if (size > mostKeptBytes) return joinInto(new Uint8Array(size), chunks);
    if (size > this.#workspace.length) this.#workspace = new Uint8Array(Math.min(2 * size, mostKeptBytes));
    return joinInto(this.#workspace, chunks).subarray(0, size);
  }
}

const mostKeptBytes = 4 * 2 ** 20;

function joinInto(target: Uint8Array, chunks: readonly Uint8Array[]): Uint8Array {
  let offset = 0;
  for (const chunk of chunks) {
    target.set(chunk, offset);
    offset += chunk.length;
  }
  return target;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder("utf-8");
