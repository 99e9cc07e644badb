import { Help } from "commander";
import { redactText } from "../core/redact.js";
import { operations } from "../resources/catalogue.js";

const secretNames: ReadonlySet<string> = new Set(
  [...operations.values()].flatMap(({ record, body }) =>
    [...Object.entries(record), ...Object.entries(body?.fields ?? {})]
      .filter(([, kind]) => kind === "secret")
      .map(([name]) => name),
  ),
);

/** Whether a field of this name may be shown. Credentials are shown with `--with-credentials` only, whichever record they are in. */
export function isShown(name: string, withCredentials: boolean): boolean {
  return withCredentials || !secretNames.has(name);
}

/** Replaces controls of the terminal, line breaks, and marks of writing direction by spaces. */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\u2028\u2029\p{Bidi_Control}]/gu, " ");
}

/** The same for a text of several lines. */
export function printableLines(text: string): string {
  return text.split("\n").map(printable).join("\n");
}

/** An error's message. Someone may have given a file's content, such as a key, as its name: no name is as long. */
export function messageOf(error: unknown): string {
  return printableLines(redactText(String((error as Error).message)).replace(/\S{100,}/g, "…"));
}

/** A path or a token as one word for a shell. */
export function asWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${printable(text).replaceAll("'", "'\\''")}'`;
}

/** JSON without credentials, unless they are asked for, and without anything that controls a terminal. */
export function toJson(
  value: unknown,
  { indent, withCredentials = false }: { readonly indent?: number; readonly withCredentials?: boolean } = {},
): string {
  const withoutSecrets = (name: string, field: unknown) => (isShown(name, withCredentials) ? field : undefined);
  return JSON.stringify(value, withoutSecrets, indent).replace(
    /[\x7f-\x9f\u2028\u2029\p{Bidi_Control}]/gu,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** As much of the text as fits, with `…` if that isn't all of it. */
export function clipped(text: string, width: number): string {
  const characters = [...text];
  return characters.length <= width ? text : `${characters.slice(0, width - 1).join("")}…`;
}

/** Commander's layout for a window; without a width, nothing is wrapped. */
function layout(width: number | undefined): Help {
  const help = new Help();
  help.minWidthToWrap = 20;
  help.prepareContext({ helpWidth: width ?? Number.POSITIVE_INFINITY });
  return help;
}

export function wrapped(text: string, width: number | undefined): string {
  return layout(width).boxWrap(text, width ?? Number.POSITIVE_INFINITY);
}

/** Two columns, of which the right one is wrapped. */
export function rows(pairs: readonly (readonly [label: string, text: string])[], width: number | undefined): string {
  const help = layout(width === undefined ? undefined : width + 2);
  const labelWidth = Math.max(...pairs.map(([label]) => help.displayWidth(label)));
  return pairs
    .map(([label, text]) => help.formatItem(label, labelWidth, text, help).replace(/^ {2}/gm, "").trimEnd())
    .join("\n");
}
