import { expect, it } from "vitest";
import { commentsOf, excessIn, patterns, proseOf } from "../tools/prose/patterns.js";

/** A page that keeps every limit. */
const plain = "If the store is unavailable, you must wait. For example, the client tries again for you.\n".repeat(20);

it("finds nothing in plain sentences", () => {
  expect(excessIn([plain])).toEqual([]);
});

it.each([
  ['"where" for "if"', "Where the store is away, you must wait."],
  ["nobody, somebody", "If nobody looks, somebody must."],
  ["whoever, whatever, whichever", "Whoever owns it, you must wait."],
  ['"What …" as a subject', "What was signed must be found."],
  ['"Of …" at the beginning', "Of each call, you must know the effect."],
  ["by itself, anew, once more, all the same, meanwhile", "You must begin anew."],
  ['"go on" for "continue"', "You must go on."],
  ["comes, came", "If no response came, you must wait."],
  ["of which, whose", "A flow whose owner is gone must wait."],
  ['"is no …"', "A timeout is no refusal."],
  ["semicolons", "You must wait; then try again."],
  ["colons within a sentence", "You must do this: wait."],
])("finds %s", (name, sentence) => {
  expect(excessIn([plain, `${sentence}\n`.repeat(20)]).map(({ pattern }) => pattern.name)).toContain(name);
  expect(patterns.map((pattern) => pattern.name)).toContain(name);
});

it("asks for requirements, readers, conditions, and examples", () => {
  const dry = excessIn(["The client sends a request. ".repeat(100)]).map(({ pattern }) => pattern.name);
  expect(dry).toEqual(["if", "you, your", "must, should", "for example"]);
});

it("reads neither code nor comments nor the targets of links", () => {
  expect(proseOf("A `b; c` [d](e;f) <!-- ; -->\n```ts\ng;\n```\n")).not.toContain(";");
});

it("reads the comments of a source, without code and examples", () => {
  const text = commentsOf("/**\n * A `b; c`.\n *\n * @example\n * d;\n */\nconst e = 1; // f;\n  // G\n");
  expect(text.trim().split(/\s+/)).toEqual(["A", "CODE.", "G"]);
});
