import { runInNewContext } from "node:vm";
import ts from "typescript";
import { expect, it } from "vitest";
import { markBranches } from "./mark-branches.js";

const source = `
function choose(a: number, b?: string): string {
  if (a > 2) return "many";
  else if (a === 2) { return "two"; }
  try {
    if (a < 0) throw new Error();
  } catch { return "none"; }
  return a === 1 ? (b ?? "one") : (a && b) || "zero";
}
[3, 2, -1, 1, 0].map((a) => choose(a)).join(" ");
`;

function run(text: string): { readonly value: unknown; readonly branches: readonly string[] } {
  const branches = new Set<string>();
  const value: unknown = runInNewContext(ts.transpile(text), { __branches: branches });
  return { value, branches: [...branches] };
}

it("notes each branch that is taken, and changes nothing else", () => {
  const marked = run(markBranches(source, "choose.ts").text);
  expect(marked.value).toBe(run(source).value);
  expect(marked.value).toBe("many two none one zero");
  // The function, three arms of if, catch, two arms of ?:, and the right sides of ?? and ||. Nothing follows a zero and &&.
  expect(marked.branches).toHaveLength(9);
});
