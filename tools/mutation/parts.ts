/** A part of the sources, and the tests that should notice what is changed in it. Both are globs from the repository's root. */
export interface Part {
  readonly name: string;
  readonly sources: readonly string[];
  readonly tests: readonly string[];
  /** Whether each test file loads the sources anew, which takes longer: needed where tests put something in the place of a module. */
  readonly isolated?: true;
  /** Whether tests start programs, which are compiled first. What is changed is not changed in those. */
  readonly hasPrograms?: true;
}

const sources = (...paths: readonly string[]) => paths.map((path) => `src/${path}.ts`);
const tests = (...folders: readonly string[]) => folders.map((folder) => `test/${folder}/**/*.test.ts`);

/** In the order of what a mistake in them would cost. */
export const parts: readonly Part[] = [
  { name: "decision", sources: sources("http/decision"), tests: tests("http") },
  { name: "paging", sources: sources("paging/*"), tests: tests("paging") },
  { name: "core", sources: sources("flows/core/*"), tests: tests("flows/core") },
  { name: "verification", sources: sources("verification/*"), tests: tests("verification") },
  { name: "tokens", sources: sources("tokens/*"), tests: tests("tokens") },
  { name: "reconcile", sources: sources("reconcile/*"), tests: tests("reconcile") },
  { name: "login", sources: sources("login/*"), tests: tests("login") },
  { name: "signing", sources: sources("signing/*"), tests: tests("signing"), isolated: true },
  { name: "errors", sources: sources("errors/*"), tests: tests("errors", "events", "http") },
  { name: "auth", sources: sources("auth/*"), tests: tests("auth", "tokens") },
  { name: "http", sources: sources("http/!(decision)"), tests: tests("http", "resources") },
  { name: "wire", sources: sources("wire/*"), tests: tests("wire"), isolated: true },
  {
    name: "journals",
    sources: sources("journals/*"),
    tests: tests("journals"),
    hasPrograms: true,
  },
  {
    name: "flows",
    sources: sources("flows/*"),
    tests: [...tests("flows"), "test/opentelemetry/gauges.test.ts"],
  },
  {
    name: "cli/lists",
    sources: sources("cli/lists/*"),
    tests: ["formats", "period", "lists", "follow"].map((name) => `test/cli/${name}.test.ts`),
    hasPrograms: true,
  },
];
