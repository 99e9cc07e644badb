/** One element of a DER text, still encoded inside. */
export interface DerElement {
  readonly tag: number;
  readonly content: Uint8Array;
}

export const derTags = {
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  null: 0x05,
  oid: 0x06,
  sequence: 0x30,
} as const;

/**
 * The elements that follow one another in `bytes`, or undefined where that is not DER. As DER wants it, a length is definite
 * and as short as can be, so that one key has one encoding.
 */
export function readElements(bytes: Uint8Array): readonly DerElement[] | undefined {
  const elements: DerElement[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = readLength(bytes, at + 1);
    if (length === undefined || length.end > bytes.length) return undefined;
    elements.push({ tag: bytes[at] ?? 0, content: bytes.subarray(length.start, length.end) });
    at = length.end;
  }
  return elements;
}

/** The elements of a sequence, where `bytes` is one sequence and nothing else. */
export function readSequence(bytes: Uint8Array): readonly DerElement[] | undefined {
  const elements = readElements(bytes);
  const [only] = elements ?? [];
  return elements?.length === 1 && only?.tag === derTags.sequence ? readElements(only.content) : undefined;
}

/** The bytes of a positive integer without a leading zero, or undefined where the element is not one. */
export function readPositiveInteger({ tag, content }: DerElement): Uint8Array | undefined {
  const [first, second = 0] = content;
  if (tag !== derTags.integer || first === undefined || first >= 0x80) return undefined;
  if (first > 0) return content;
  return second >= 0x80 ? content.subarray(1) : undefined;
}

/** An object identifier with dots between its numbers: `1.2.840.113549.1.1.1`. */
export function readOid({ tag, content }: DerElement): string | undefined {
  const last = content.at(-1);
  if (tag !== derTags.oid || last === undefined || last >= 0x80) return undefined;
  const numbers: number[] = [];
  let number = 0;
  for (const byte of content) {
    number = number * 0x80 + (byte & 0x7f);
    if (byte >= 0x80) continue;
    numbers.push(number);
    number = 0;
  }
  const [head = 0, ...rest] = numbers;
  const root = Math.min(2, Math.floor(head / 40));
  return [root, head - root * 40, ...rest].join(".");
}

/** An element with `parts`, one after the other, as its content. */
export function writeElement(tag: number, ...parts: readonly Uint8Array[]): Uint8Array {
  const length = parts.reduce((sum, part) => sum + part.length, 0);
  const header = [tag, ...lengthBytes(length)];
  const element = new Uint8Array(header.length + length);
  element.set(header);
  let at = header.length;
  for (const part of parts) {
    element.set(part, at);
    at += part.length;
  }
  return element;
}

/** Longer elements than this are in no key, and 32-bit arithmetic holds up to here. */
const mostLengthBytes = 3;

function readLength(bytes: Uint8Array, at: number): { readonly start: number; readonly end: number } | undefined {
  const first = bytes[at];
  if (first === undefined) return undefined;
  if (first < 0x80) return { start: at + 1, end: at + 1 + first };
  const start = at + 1 + (first & 0x7f);
  if (first === 0x80 || (first & 0x7f) > mostLengthBytes || start > bytes.length) return undefined;
  const length = bytes.subarray(at + 1, start).reduce((sum, byte) => sum * 0x100 + byte, 0);
  const isShortest = lengthBytes(length).length === start - at;
  return isShortest ? { start, end: start + length } : undefined;
}

function lengthBytes(length: number): number[] {
  if (length < 0x80) return [length];
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest = Math.floor(rest / 0x100)) bytes.unshift(rest % 0x100);
  return [0x80 + bytes.length, ...bytes];
}
