/** The bytes of a body as they arrive, up to a limit. */
export class Body {
  readonly maxBytes: number;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** @returns false if the chunk is too much: it is left out. */
  push(chunk: Uint8Array): boolean {
    if (this.#size + chunk.length > this.maxBytes) return false;
    this.#size += chunk.length;
    this.#chunks.push(chunk);
    return true;
  }

  bytes(): Uint8Array {
    const [first] = this.#chunks;
    if (first !== undefined && this.#chunks.length === 1) return first;
    const bytes = new Uint8Array(this.#size);
    let offset = 0;
    for (const chunk of this.#chunks) {
      bytes.set(chunk, offset);
      offset += chunk.length;
    }
    return bytes;
  }
}

/** A whole body as text, without a byte order mark. */
export function decodeText(bytes: Uint8Array): { readonly text: string; readonly broken?: "not-utf8" } {
  try {
    return { text: strictUtf8.decode(bytes) };
  } catch {
    return { text: lenientUtf8.decode(bytes), broken: "not-utf8" };
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder("utf-8");
