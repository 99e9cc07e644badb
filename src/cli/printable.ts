/** Controls of the terminal, line breaks, and what turns the direction of writing. */
const steering = /[\p{Cc}\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu;

/** What data holds must not steer the terminal. */
export function printable(text: string): string {
  return text.replace(steering, " ");
}

/** The same for a text whose line breaks are meant. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** A JSON text that means the same, and shows nothing of that raw: JSON itself escapes only what lies below U+0020. */
export function toJson(value: unknown, indent?: number): string {
  return JSON.stringify(value, null, indent).replace(
    /[\x7f-\x9f\u2028\u2029\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
