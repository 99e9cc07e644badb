import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

/** What the comments of one resource say. */
export interface ResourceDocs {
  /** The interface of its records, such as `Payment`. */
  readonly record: string;
  /** Of the record itself. */
  readonly text: string;
  /** By field; those without a comment are left out. */
  readonly fields: ReadonlyMap<string, string>;
  /** What each method does, by verb: the first words of its comment. */
  readonly methods: ReadonlyMap<string, string>;
}

/** The comments of all resources in a folder, by the name that their rows begin with. */
export function readDocstrings(folder: string): ReadonlyMap<string, ResourceDocs> {
  const docs = new Map<string, ResourceDocs>();
  for (const name of readdirSync(folder)) {
    const file = ts.createSourceFile(name, readFileSync(join(folder, name), "utf8"), ts.ScriptTarget.ESNext, true);
    for (const statement of file.statements) {
      const resource = ts.isVariableStatement(statement) ? resourceOf(statement) : undefined;
      if (resource !== undefined) docs.set(resource.name, docsOf(file, resource.record));
    }
  }
  return docs;
}

/** Of `export const … = resource<Record, …>()("name", …)`. */
function resourceOf(statement: ts.VariableStatement): { readonly name: string; readonly record: string } | undefined {
  const call = statement.declarationList.declarations[0]?.initializer;
  if (call === undefined || !ts.isCallExpression(call) || !ts.isCallExpression(call.expression)) return undefined;
  const [name] = call.arguments;
  const [record] = call.expression.typeArguments ?? [];
  if (name === undefined || !ts.isStringLiteral(name) || record === undefined) return undefined;
  return { name: name.text, record: record.getText() };
}

function docsOf(file: ts.SourceFile, record: string): ResourceDocs {
  const described = file.statements.find((each) => ts.isInterfaceDeclaration(each) && each.name.text === record);
  const actions = file.statements.find(ts.isClassDeclaration);
  if (described === undefined || !ts.isInterfaceDeclaration(described)) {
    throw new Error(`${file.fileName} has no interface ${record}`);
  }
  const methods = (actions?.members ?? []).filter(ts.isMethodDeclaration);
  return {
    record,
    text: commentOf(described),
    fields: commentsOf(described.members),
    methods: new Map([...commentsOf(methods)].map(([verb, text]) => [verb, /^[^.:]+/.exec(text)?.[0] ?? text])),
  };
}

function commentsOf(members: readonly (ts.TypeElement | ts.ClassElement)[]): Map<string, string> {
  const comments = members.map((member) => [member.name?.getText() ?? "", commentOf(member)] as const);
  return new Map(comments.filter(([, text]) => text !== ""));
}

function commentOf(node: ts.Node): string {
  const comment = ts.getJSDocCommentsAndTags(node).find(ts.isJSDoc)?.comment;
  return (ts.getTextOfJSDocComment(comment) ?? "").replaceAll(/\s*\n\s*/g, " ");
}
