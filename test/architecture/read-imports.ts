import ts from "typescript";

export interface ModuleImport {
  /** As it is written; undefined where it is not a string literal, so that nobody can tell what it will be. */
  readonly specifier: string | undefined;
  readonly line: number;
}

/** What was read of each text: the check of one planted file reads all of `src/` beside it. */
const known = new Map<string, readonly ModuleImport[]>();

/**
 * Every module that a file names: `import`, `import type`, `export … from`, `import x = require()`, `import()` of values and of
 * types, `declare module`, `require()`, what `createRequire()` returns, and `process.getBuiltinModule()`.
 */
export function readImports(path: string, text: string): readonly ModuleImport[] {
  const found = known.get(text) ?? parseImports(path, text);
  known.set(text, found);
  return found;
}

function parseImports(path: string, text: string): ModuleImport[] {
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest);
  const loaders = new Set(["require", "getBuiltinModule", ...requireFunctions(file)]);
  const found: ModuleImport[] = [];
  walk(file, (node) => {
    const name = moduleName(node, loaders);
    if (name === undefined) return;
    const { line } = file.getLineAndCharacterOfPosition(node.getStart(file));
    found.push({ specifier: ts.isStringLiteralLike(name) ? name.text : undefined, line: line + 1 });
  });
  return found;
}

function walk(node: ts.Node, visit: (node: ts.Node) => void): void {
  visit(node);
  ts.forEachChild(node, (child) => walk(child, visit));
}

/** The variables that hold a `require` made by `createRequire`. */
function requireFunctions(file: ts.SourceFile): string[] {
  const names: string[] = [];
  walk(file, (node) => {
    if (!ts.isVariableDeclaration(node) || !ts.isIdentifier(node.name) || node.initializer === undefined) return;
    if (isCallOf(node.initializer, "createRequire")) names.push(node.name.text);
  });
  return names;
}

/** The node that holds the name of the module, if this node imports one. */
function moduleName(node: ts.Node, loaders: ReadonlySet<string>): ts.Node | undefined {
  if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node)) return node.moduleSpecifier;
  if (ts.isExternalModuleReference(node)) return node.expression;
  if (ts.isImportTypeNode(node)) return ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument;
  if (ts.isModuleDeclaration(node)) return ts.isStringLiteral(node.name) ? node.name : undefined;
  if (!ts.isCallExpression(node)) return undefined;
  const { expression } = node;
  const loads =
    expression.kind === ts.SyntaxKind.ImportKeyword ||
    loaders.has(lastName(expression)) ||
    isCallOf(expression, "createRequire");
  return loads ? (node.arguments[0] ?? node) : undefined;
}

function isCallOf(node: ts.Node, name: string): boolean {
  return ts.isCallExpression(node) && lastName(node.expression) === name;
}

/** `c` of `a.b.c` and of `c`. */
function lastName(node: ts.Expression): string {
  if (ts.isIdentifier(node)) return node.text;
  return ts.isPropertyAccessExpression(node) ? node.name.text : "";
}
