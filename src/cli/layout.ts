import { stripVTControlCharacters } from "node:util";
import { widthOf } from "./text-width.js";

/**
 * The lines of a text in a window, each but the first indented. It is broken where one space stands, so that what several spaces join stays
 * together. A word that is wider than the window stays whole, since people copy it.
 *
 * @param width of the window; none where the text goes elsewhere, and stays one line.
 */
export function wrapped(text: string, width: number | undefined, indent = 0): string[] {
  if (width === undefined) return [text];
  return filled(wordsOf(text), width, indent);
}

/** The lines of data in a window, none of which is wider: a word that is wider than the window is cut. */
export function wrappedData(text: string, width: number | undefined): string[] {
  if (width === undefined) return [text];
  const pieces = wordsOf(text).flatMap((word) => cut(word, width));
  return filled(pieces, width, 0);
}

/** A command line, broken in front of options in a way that shells read as one. */
export function wrappedCommand(text: string, width: number | undefined): string[] {
  if (width === undefined || shownWidth(text) <= width) return [text];
  const lines = filled(text.split(/ (?=--|[<>|] )/), width - 2, 6);
  return lines.map((line, index) => (index < lines.length - 1 ? `${line} \\` : line));
}

/** Two columns; in a narrow window what belongs into the right one stands beneath. */
export function columns(rows: readonly [left: string, right: string][], width: number | undefined): string[] {
  const leftWidth = Math.max(...rows.map(([left]) => left.length));
  const isNarrow = width !== undefined && width < leftWidth + leastRight;
  return rows.flatMap(([left, right]) =>
    isNarrow
      ? [...wrapped(`  ${left}`, width, 4), ...wrapped(`      ${right}`, width, 6)]
      : wrapped(`  ${left.padEnd(leftWidth)}  ${right}`, width, leftWidth + 4),
  );
}

const leastRight = 34;

function wordsOf(text: string): string[] {
  return text.split(/(?<=\S) (?=\S)/);
}

function cut(word: string, width: number): string[] {
  const pieces: string[] = [];
  let piece = "";
  for (const character of word) {
    if (piece !== "" && widthOf(piece + character) > width) {
      pieces.push(piece);
      piece = "";
    }
    piece += character;
  }
  return [...pieces, piece];
}

function filled(words: readonly string[], width: number, indent: number): string[] {
  const [first = "", ...others] = words;
  const lines = [first];
  for (const word of others) {
    const line = `${lines.at(-1)} ${word}`;
    if (shownWidth(line) <= width) lines[lines.length - 1] = line;
    else lines.push(" ".repeat(indent) + word);
  }
  return lines;
}

function shownWidth(text: string): number {
  return widthOf(stripVTControlCharacters(text));
}
