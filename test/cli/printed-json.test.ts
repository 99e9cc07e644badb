import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";

/** What writes to a terminal. `toJson`, `printJson` and `printRecord` leave credentials out; `JSON.stringify` does not. */
const writer = /(?:^|\.)(?:print|writeOut|stdout\.write)$/;

/** Where the arguments of a writer contain `JSON.stringify`, as `file:line`. */
function rawJsonIn(file: string, text: string): string[] {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const visit = (node: ts.Node): string[] => {
    const isWriter = ts.isCallExpression(node) && writer.test(node.expression.getText(source));
    const found = isWriter && node.arguments.some((each) => each.getText(source).includes("JSON.stringify("));
    const line = source.getLineAndCharacterOfPosition(node.getStart(source)).line + 1;
    return [...(found ? [`${file}:${line}`] : []), ...node.getChildren(source).flatMap(visit)];
  };
  return visit(source);
}

it("prints no JSON by JSON.stringify, which would show credentials", () => {
  expect(rawJsonIn("planted.ts", "print(terminal, JSON.stringify(record));")).toEqual(["planted.ts:1"]);
  const names = readdirSync("src/cli", { recursive: true, encoding: "utf8" });
  const files = names.filter((name) => name.endsWith(".ts")).map((name) => `src/cli/${name}`);
  expect(files.length).toBeGreaterThan(50);
  expect(files.flatMap((file) => rawJsonIn(file, readFileSync(file, "utf8")))).toEqual([]);
});
