/** A whole body as text, without a byte order mark. */
export function decodeBody(chunks: readonly Uint8Array[]): { readonly text: string; readonly broken?: "not-utf8" } {
  const bytes = chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : join(chunks);
  try {
    return { text: strictUtf8.decode(bytes) };
  } catch {
    return { text: lenientUtf8.decode(bytes), broken: "not-utf8" };
  }
}

function join(chunks: readonly Uint8Array[]): Uint8Array {
  const joined = new Uint8Array(chunks.reduce((size, { length }) => size + length, 0));
  let offset = 0;
  for (const chunk of chunks) {
    joined.set(chunk, offset);
    offset += chunk.length;
  }
  return joined;
}

const strictUtf8 = new TextDecoder("utf-8", { fatal: true });
const lenientUtf8 = new TextDecoder("utf-8");
