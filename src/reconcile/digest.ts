/**
 * 64 bits that stand for a text, in two halves. They tell texts apart that were not made to be mistaken for one another: no protection
 * against anyone.
 */
export interface Digest {
  readonly high: number;
  readonly low: number;
}

/** Multiplies and mixes each UTF-16 code unit into two halves, which are then mixed with each other (as "cyrb53" does). */
export function digestOf(text: string): Digest {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  const mixedHigh = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  const mixedLow = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(mixedHigh ^ (mixedHigh >>> 13), 3266489909);
  return { high: mixedHigh >>> 0, low: mixedLow >>> 0 };
}

/** The sum of the digests of a set, whatever their order. Different sets almost never have equal sums. */
export class DigestSum implements Digest {
  high = 0;
  low = 0;

  add({ high, low }: Digest): void {
    this.high = (this.high + high) >>> 0;
    this.low = (this.low + low) >>> 0;
  }

  subtract({ high, low }: Digest): void {
    this.high = (this.high - high) >>> 0;
    this.low = (this.low - low) >>> 0;
  }
}

/** Writes a digest as 16 hexadecimal digits. */
export function digestText({ high, low }: Digest): string {
  return high.toString(16).padStart(8, "0") + low.toString(16).padStart(8, "0");
}
