/** What makes prose hard to read, and how often it may occur. A limit is per 10,000 words. */
export interface Pattern {
  readonly name: string;
  readonly matches: RegExp;
  readonly atMost?: number;
  readonly atLeast?: number;
}

/** The limits are about twice the rates of six well-written projects. They may only become stricter. */
export const patterns: readonly Pattern[] = [
  {
    name: '"where" for "if"',
    matches:
      /(?<!explains |exactly |shows |know |see |say |says )\bwhere (?:the|a|an|it|that|they|your|no|nothing|its|this|one|there|either|neither|what|more)\b/gi,
    atMost: 5,
  },
  { name: "nobody, somebody", matches: /\b(?:nobody|somebody)\b/gi, atMost: 1 },
  { name: "whoever, whatever, whichever", matches: /\b(?:who|what|which)ever\b/gi, atMost: 2 },
  {
    name: '"What …" as a subject',
    matches: /(?:^|[.:|] |\n)What [a-z]+ (?!is\b.*\?|does\b.*\?|do\b.*\?)[^?\n]{0,80}(?=[.|\n])/gm,
    atMost: 3,
  },
  { name: '"Of …" at the beginning', matches: /(?:^|[.] |\n)Of [a-z]/gm, atMost: 1 },
  {
    name: "by itself, anew, once more, all the same, meanwhile",
    matches: /\b(?:by (?:itself|themselves)|anew|once more|all the same|meanwhile)\b/gi,
    atMost: 3,
  },
  { name: '"go on" for "continue"', matches: /\b(?:go|goes|going|went) on\b/gi, atMost: 1 },
  { name: "comes, came", matches: /\b(?:comes|came|come)\b/gi, atMost: 6 },
  { name: "of which, whose", matches: /\bof which\b|\bwhose\b/gi, atMost: 5 },
  { name: '"is no …"', matches: /\b(?:is|are|was|were) no (?!longer|more|such)[a-z]/gi, atMost: 4 },
  { name: "semicolons", matches: /;/g, atMost: 20 },
  { name: "colons within a sentence", matches: /: [a-z]/g, atMost: 55 },
  { name: "if", matches: /\bif\b/gi, atLeast: 40 },
  { name: "you, your", matches: /\byour?\b/gi, atLeast: 90 },
  { name: "must, should", matches: /\b(?:must|should)\b/gi, atLeast: 15 },
  { name: "for example", matches: /\bfor example\b|\be\.g\./gi, atLeast: 3 },
];

export interface Excess {
  readonly pattern: Pattern;
  readonly rate: number;
  readonly limit: string;
}

/** The patterns whose limit the texts exceed, all of them taken together. */
export function excessIn(texts: readonly string[], applied = patterns): readonly Excess[] {
  const prose = texts.join("\n");
  const words = prose.split(/\s+/).filter((word) => word !== "").length;
  return applied.flatMap((pattern) => {
    const { matches, atMost, atLeast } = pattern;
    const rate = ((prose.match(matches) ?? []).length * 10_000) / words;
    if (atMost !== undefined && rate > atMost) return [{ pattern, rate, limit: `at most ${atMost}` }];
    if (atLeast !== undefined && rate < atLeast) return [{ pattern, rate, limit: `at least ${atLeast}` }];
    return [];
  });
}

/** A page without code, comments, and the targets of links. */
export function proseOf(markdown: string): string {
  return markdown
    .replaceAll(/```[\s\S]*?```|<!--[\s\S]*?-->/g, "")
    .replaceAll(/`[^`\n]*`/g, "CODE")
    .replaceAll(/\]\([^)]*\)/g, "]");
}

/** The comments of a source, without examples and code. */
export function commentsOf(source: string): string {
  return [...source.matchAll(/\/\*\*([\s\S]*?)\*\/|^\s*\/\/ (.*)$/gm)]
    .map(([, block, line]) => (block ?? line ?? "").replaceAll(/^\s*\* ?/gm, "").replace(/@example[\s\S]*/, ""))
    .join("\n")
    .replaceAll(/`[^`\n]*`/g, "CODE");
}
