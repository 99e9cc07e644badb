/**
 * SHA-256 of a text's UTF-8 bytes, in hex (FIPS 180-4). At once, where the platform's own takes a turn of the event loop: what a flow stores
 * follows from its state alone, in a simulated world too.
 */
export function sha256Hex(text: string): string {
  const bytes = padded(new TextEncoder().encode(text));
  const hash = Uint32Array.from(initialHash);
  const schedule = new Uint32Array(64);
  for (let offset = 0; offset < bytes.byteLength; offset += 64) addBlock(hash, schedule, bytes, offset);
  return Array.from(hash, (word) => word.toString(16).padStart(8, "0")).join("");
}

/** The bytes, a bit, zeros, and the length in bits. */
function padded(message: Uint8Array): DataView {
  const bytes = new Uint8Array(64 * Math.ceil((message.length + 9) / 64));
  bytes.set(message);
  bytes[message.length] = 0x80;
  const view = new DataView(bytes.buffer);
  view.setUint32(bytes.length - 8, Math.floor(message.length / 2 ** 29));
  view.setUint32(bytes.length - 4, message.length << 3);
  return view;
}

function addBlock(hash: Uint32Array, w: Uint32Array, bytes: DataView, offset: number): void {
  const at = (index: number): number => w[index] ?? 0;
  for (let t = 0; t < 64; t += 1) {
    if (t < 16) {
      w[t] = bytes.getUint32(offset + 4 * t);
      continue;
    }
    const [before, latest] = [at(t - 15), at(t - 2)];
    const s0 = right(before, 7) ^ right(before, 18) ^ (before >>> 3);
    const s1 = right(latest, 17) ^ right(latest, 19) ^ (latest >>> 10);
    w[t] = at(t - 16) + s0 + at(t - 7) + s1;
  }
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = hash;
  for (let t = 0; t < 64; t += 1) {
    const s1 = right(e, 6) ^ right(e, 11) ^ right(e, 25);
    const t1 = (h + s1 + ((e & f) ^ (~e & g)) + (constants[t] ?? 0) + at(t)) | 0;
    const s0 = right(a, 2) ^ right(a, 13) ^ right(a, 22);
    const t2 = (s0 + ((a & b) ^ (a & c) ^ (b & c))) | 0;
    [h, g, f, e, d, c, b, a] = [g, f, e, (d + t1) | 0, c, b, a, (t1 + t2) | 0];
  }
  for (const [index, word] of [a, b, c, d, e, f, g, h].entries()) hash[index] = (hash[index] ?? 0) + word;
}

function right(word: number, by: number): number {
  return (word >>> by) | (word << (32 - by));
}

const primes = firstPrimes(64);
/** The first 32 bits of the fractions of the primes' square and cube roots. */
const initialHash = primes.slice(0, 8).map((prime) => fraction(Math.sqrt(prime)));
const constants = primes.map((prime) => fraction(Math.cbrt(prime)));

function fraction(root: number): number {
  return Math.floor((root % 1) * 2 ** 32);
}

function firstPrimes(count: number): readonly number[] {
  const found: number[] = [];
  for (let n = 2; found.length < count; n += 1) if (found.every((prime) => n % prime !== 0)) found.push(n);
  return found;
}
