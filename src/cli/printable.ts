import { isShown } from "./secrets.js";

/** Controls of the terminal, line breaks, and what turns the direction of writing. */
const steering = /[\p{Cc}\u2028\u2029\p{Bidi_Control}]/gu;

/** Puts spaces in place of what could steer the terminal. */
export function printable(text: string): string {
  return text.replace(steering, " ");
}

/** The same for a text whose line breaks are meant. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** A path or a token as one word for a shell. */
export function asWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`;
}

export interface JsonStyle {
  readonly indent?: number;
  /** Fields of kind `secret` are left out otherwise, however deep they stand. */
  readonly withCredentials?: boolean;
}

/**
 * A JSON text that means the same, but for credentials, and shows nothing that steers a terminal: JSON itself escapes only what lies
 * below U+0020.
 */
export function toJson(value: unknown, { indent, withCredentials = false }: JsonStyle = {}): string {
  return JSON.stringify(value, withCredentials ? undefined : withoutSecrets, indent).replace(
    /[\x7f-\x9f\u2028\u2029\p{Bidi_Control}]/gu,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function withoutSecrets(name: string, value: unknown): unknown {
  return isShown(name, false) ? value : undefined;
}
