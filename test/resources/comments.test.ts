import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { operations } from "../../src/resources/catalogue.js";

/** The comment of each method that is a verb, by the name of its operation: the row that the method calls. */
const comments = new Map(
  readdirSync("src/resources").flatMap((name) => {
    const file = ts.createSourceFile(name, readFileSync(`src/resources/${name}`, "utf8"), ts.ScriptTarget.ESNext, true);
    const rows = /resource<[^>]*>\(\)\(\s*"([\w.]+)"/.exec(file.text)?.[1];
    const methods = file.statements.filter(ts.isClassDeclaration).flatMap(({ members }) => members);
    return methods.filter(ts.isMethodDeclaration).map((method): [string, string] => {
      const text = ts.getJSDocCommentsAndTags(method).map(({ comment }) => ts.getTextOfJSDocComment(comment) ?? "");
      return [`${rows}.${method.name.getText()}`, text.join(" ").replace(/\s+/g, " ")];
    });
  }),
);

describe.each([...operations.values()])("the comment of the method of $name", (row) => {
  const comment = comments.get(row.name) ?? "";

  it("begins with what it does, and its method and path", () => {
    const path = row.path.text.replace(/\{\w+\}/g, "{id}");
    expect(/^[A-Z][^:]*: (`[^`]+`)\./.exec(comment)?.[1]).toBe(`\`${row.method} ${path}\``);
  });

  it("says whether it is signed, of a create at least", () => {
    const saysSigned = /\bSigned\b/.test(comment);
    const saysUnsigned = /\bnot signed\b/i.test(comment);
    expect({ saysSigned, saysUnsigned }).toEqual({
      saysSigned: row.signed,
      saysUnsigned: !row.signed && (row.verb === "create" || saysUnsigned),
    });
  });
});
