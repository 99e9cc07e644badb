import { readFileSync } from "node:fs";
import ts from "typescript";

/** The properties that functions of a file read, by name. What only a comment or a text names is not read. */
export function namesReadIn(file: string, functions?: readonly string[]): ReadonlySet<string> {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const read = (node: ts.Node): string[] => [...nameRead(node), ...node.getChildren().flatMap(read)];
  const isMeant = (node: ts.Statement) =>
    functions === undefined || (ts.isFunctionDeclaration(node) && functions.includes(node.name?.text ?? ""));
  return new Set(source.statements.filter(isMeant).flatMap(read));
}

function nameRead(node: ts.Node): string[] {
  if (ts.isPropertyAccessExpression(node)) return [node.name.text];
  if (!ts.isBindingElement(node)) return [];
  const name = node.propertyName ?? node.name;
  return ts.isIdentifier(name) ? [name.text] : [];
}
