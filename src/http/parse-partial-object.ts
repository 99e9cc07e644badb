/**
 * The members of a JSON object whose text broke off, as far as they are complete: what is still being written is left out. `undefined`
 * where the text begins no JSON object.
 *
 * In linear time, over the first 128 KiB: the text may be anything.
 */
export function parsePartialObject(whole: string): Record<string, unknown> | undefined {
  const text = whole.slice(0, longestText);
  const start = text.search(/\S/);
  if (text[start] !== "{") return undefined;
  const end = text.length;
  let depth = 0;
  let isValue = false;
  // Up to here all members are complete.
  let complete = start + 1;
  for (let at = start; at < end && (depth > 0 || at === start); at++) {
    const character = text[at];
    if (character === '"') {
      at = endOfString(text, at, end);
      if (depth === 1 && isValue && at < end) complete = at + 1;
    } else if (character === "{" || character === "[") depth += 1;
    else if (character === "}" || character === "]") {
      depth -= 1;
      if (depth < 2) complete = at + 1;
    } else if (depth === 1 && character === ",") {
      complete = at;
      isValue = false;
    } else if (character === ":") isValue = true;
  }
  try {
    return JSON.parse(text.slice(start, complete) + (depth === 0 ? "" : "}")) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}

/** Index of the quote that ends the string which begins at `start`; `end` where none does. */
function endOfString(text: string, start: number, end: number): number {
  for (let at = start + 1; at < end; at++) {
    const character = text[at];
    if (character === "\\") at += 1;
    else if (character === '"') return at;
  }
  return end;
}

const longestText = 2 ** 17;
