import ts from "typescript";
import { branchesName } from "./branches.js";

/** A text to be put into a source. */
interface Insertion {
  readonly at: number;
  readonly text: string;
  /** Of two at the same place, what closes comes before what opens. */
  readonly isEnd: boolean;
}

/** A part of a source that runs, or does not. */
export interface Branch {
  readonly id: string;
  /** Offsets in the source as it was. */
  readonly from: number;
  readonly to: number;
  /** Whether it only gives a value that is missing: the right side of `??`. */
  readonly isDefault: boolean;
}

export interface MarkedSource {
  readonly text: string;
  readonly branches: readonly Branch[];
}

/**
 * The source with a note in every branch: each arm of `if`, `?:`, `&&`, `||` and `??`, each function and each `catch`. What is guided by
 * marks finds more with these.
 */
export function markBranches(source: string, file: string): MarkedSource {
  const parsed = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const insertions: Insertion[] = [];
  const branches: Branch[] = [];
  const note = (node: ts.Node) => {
    const id = `${file}#${branches.length}`;
    branches.push({ id, from: node.getStart(), to: node.getEnd(), isDefault: isDefault(node) });
    return `globalThis.${branchesName}?.add(${JSON.stringify(id)})`;
  };
  const around = (node: ts.Node, before: string, after: string) => {
    insertions.push(
      { at: node.getStart(), text: before, isEnd: false },
      { at: node.getEnd(), text: after, isEnd: true },
    );
  };
  const ofExpression = (node: ts.Expression) => around(node, `(${note(node)}, `, ")");
  const ofStatement = (node: ts.Statement) => {
    if (ts.isBlock(node)) insertions.push({ at: node.getStart() + 1, text: `${note(node)};`, isEnd: false });
    else around(node, `{ ${note(node)}; `, " }");
  };
  const visit = (node: ts.Node): void => {
    if (ts.isIfStatement(node)) {
      ofStatement(node.thenStatement);
      if (node.elseStatement !== undefined && !ts.isIfStatement(node.elseStatement)) ofStatement(node.elseStatement);
    } else if (ts.isConditionalExpression(node)) {
      ofExpression(node.whenTrue);
      ofExpression(node.whenFalse);
    } else if (ts.isBinaryExpression(node) && shortcuts.has(node.operatorToken.kind)) {
      ofExpression(node.right);
    } else if (ts.isCatchClause(node)) {
      ofStatement(node.block);
    } else if (ts.isFunctionLike(node) && "body" in node && node.body !== undefined && ts.isBlock(node.body)) {
      if (!ts.isConstructorDeclaration(node)) ofStatement(node.body);
    }
    ts.forEachChild(node, visit);
  };
  visit(parsed);
  return { text: applied(source, insertions), branches };
}

function isDefault({ parent }: ts.Node): boolean {
  return ts.isBinaryExpression(parent) && parent.operatorToken.kind === ts.SyntaxKind.QuestionQuestionToken;
}

const shortcuts: ReadonlySet<ts.SyntaxKind> = new Set([
  ts.SyntaxKind.AmpersandAmpersandToken,
  ts.SyntaxKind.BarBarToken,
  ts.SyntaxKind.QuestionQuestionToken,
]);

/** What opens later at the same place is inside of what opens before; with ends it is the other way round. */
function applied(source: string, insertions: readonly Insertion[]): string {
  const inOrder = insertions
    .map((insertion, order) => ({ ...insertion, order: insertion.isEnd ? -order : order }))
    .sort((one, other) => one.at - other.at || Number(other.isEnd) - Number(one.isEnd) || one.order - other.order);
  let text = "";
  let from = 0;
  for (const { at, text: inserted } of inOrder) {
    text += source.slice(from, at) + inserted;
    from = at;
  }
  return text + source.slice(from);
}
