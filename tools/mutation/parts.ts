/** A part of the sources, and the tests that must notice a change of it. Both are globs from the repository's root. */
export interface Part {
  readonly name: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
  /** Tests that replace modules load the sources again for each file, which takes longer. */
  readonly isolated?: true;
}

const part = (name: string, path: string, folders: readonly string[], isolated?: true): Part => ({
  name,
  sources: [`src/${path}.ts`],
  tests: folders.map((folder) => `test/${folder}/**/*.test.ts`),
  ...(isolated && { isolated }),
});

/** In the order of what a mistake in them would cost. */
export const parts: readonly Part[] = [
  part("decision", "http/decision", ["http"]),
  part("core", "flows/core/*", ["flows/core"]),
  part("signing", "signing/*", ["signing"], true),
  part("journals", "journals/*", ["journals", "journal-parts"]),
  part("auth", "auth/*", ["auth", "tokens", "login"]),
  part("paging", "paging/*", ["paging", "reconcile"]),
];
