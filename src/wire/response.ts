import type { BrokenBody } from "./transport.js";

/** The bytes of a body as they arrive, up to a limit. */
export class Body {
  readonly maxBytes: number;
  readonly #chunks: Uint8Array[] = [];
  #size = 0;

  constructor(maxBytes: number) {
    this.maxBytes = maxBytes;
  }

  /** @returns false if the chunk is too much and was left out. */
  push(chunk: Uint8Array): boolean {
    if (this.#size + chunk.length > this.maxBytes) return false;
    this.#size += chunk.length;
    this.#chunks.push(chunk);
    return true;
  }

  text(): DecodedText {
    if (this.#size > kept.length && this.#size <= maxKeptBytes) kept = new Uint8Array(this.#size);
    return decodeText(this.#join(this.#size > kept.length ? new Uint8Array(this.#size) : kept));
  }

  bytes(): Uint8Array {
    return this.#join(new Uint8Array(this.#size));
  }

  #join(memory: Uint8Array): Uint8Array {
    const [first] = this.#chunks;
    if (first !== undefined && this.#chunks.length === 1) return first;
    let offset = 0;
    for (const chunk of this.#chunks) {
      memory.set(chunk, offset);
      offset += chunk.length;
    }
    return memory.subarray(0, offset);
  }
}

/** Reused for each body that is decoded at once. New memory for each page takes a tenth of the time of reading it. */
let kept = new Uint8Array(0);
const maxKeptBytes = 2 ** 21;

export interface DecodedText {
  readonly text: string;
  readonly broken?: BrokenBody;
}

/** Without a byte order mark. */
export function decodeText(bytes: Uint8Array): DecodedText {
  try {
    return { text: strictUtf8.decode(bytes) };
  } catch {
    return { text: lenientUtf8.decode(bytes), broken: "not-utf8" };
  }
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder("utf-8");

/** The JSON object of a text, or undefined if it is anything else. */
export function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    const isObject = typeof value === "object" && value !== null && !Array.isArray(value);
    return isObject ? (value as Readonly<Record<string, unknown>>) : undefined;
  } catch {
    return undefined;
  }
}

/** The same, or an empty object if it is anything else. */
export function parseJsonObject(text: string): Readonly<Record<string, unknown>> {
  return parseObject(text) ?? {};
}

/** Whether a 4xx leaves open if something was done. Any other 4xx says that nothing was, if it's the server's own. */
export function provesNothing(status: number): boolean {
  return [408, 409, 421, 425, 499].includes(status);
}

/** Whether the same request can succeed later. */
export function isPassingStatus(status: number): boolean {
  return status >= 500 || [408, 425, 429].includes(status);
}

/** Whether a status refuses the question, such as an unknown parameter, and not the caller or the time. */
export function isRefusedQuestion(status: number): boolean {
  return status === 400 || status === 422;
}
