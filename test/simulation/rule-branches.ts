import { readFileSync } from "node:fs";
import { join } from "node:path";
import { ruleMark } from "./branches.js";
import { type Branch, markBranches } from "./mark-branches.js";
import { mutations, type Patch, patchesOf } from "./mutations.js";
import { root } from "./patch-sources.js";

/** The branches of each rule, by the mark of the rule. */
export type RuleBranches = Readonly<Record<string, readonly string[]>>;

/**
 * Where each rule of the mutations is in the sources: the branches that its own text takes, such as the arm of its `if`; or the branch that it
 * stands in, where its text takes none.
 */
export function ruleBranches(): RuleBranches {
  return Object.fromEntries(
    mutations.map((mutation) => [ruleMark(mutation.name), patchesOf(mutation).flatMap((patch) => branchesOf(patch))]),
  );
}

function branchesOf({ file, find }: Patch): readonly string[] {
  const source = readFileSync(join(root, file), "utf8");
  const { branches } = markBranches(source, file);
  const from = source.indexOf(find);
  const to = from + find.length;
  // Its arm may go on behind the text.
  const own = branches.filter((branch) => !branch.isDefault && branch.from > from && branch.from < to);
  const around = branches.filter((branch) => branch.from <= from && branch.to >= to);
  const innermost = around.reduce<Branch | undefined>(
    (best, branch) => (best === undefined || branch.from >= best.from ? branch : best),
    undefined,
  );
  const chosen = own.length > 0 ? own : innermost === undefined ? [] : [innermost];
  return chosen.map(({ id }) => id);
}
