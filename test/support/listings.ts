/** A block of code of a page. */
export interface Listing {
  /** What the reader sees. */
  readonly code: string;
  /** What the page declares for it in a comment, unseen: names, their types, and what a block that is run starts with. */
  readonly setup: string;
  readonly isRun: boolean;
  /** What the page says that it prints. */
  readonly printed: string | undefined;
}

/**
 * The TypeScript blocks of a page. `ts run` marks one that is run, and a block of `text` right behind it is what it prints. A comment that
 * begins with `setup` is in front of each block after it that is only compiled, and one with `setup run` of each that is run. A block that
 * names its file needs none.
 */
export function listingsIn(markdown: string): readonly Listing[] {
  const found = markdown.matchAll(
    /^<!-- setup( run)?\n([\s\S]*?)-->|^```ts( run)?\n([\s\S]*?)^```(?:\s*^```text\n([\s\S]*?)^```)?/gm,
  );
  const setups = { compiled: "", run: "" };
  return [...found].flatMap(([, ofRun, declared, run, code, printed]) => {
    if (declared !== undefined) setups[ofRun === undefined ? "compiled" : "run"] = declared;
    if (code === undefined) return [];
    const setup = run === undefined ? setups.compiled : setups.run;
    return [{ code, setup: code.startsWith("// ") ? "" : setup, isRun: run !== undefined, printed }];
  });
}
