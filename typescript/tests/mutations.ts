/**
 * Lists the one-change mutants of TypeScript files as JSON: `node mutations.ts FILE…`.
 *
 * Twin: shared-fixtures/checks/mutations.py, which says what a change is. An edit is
 * `{ start, end, text }`, in UTF-16 units.
 */

import { readFileSync } from "node:fs";
import ts from "typescript";

interface Edit {
  start: number;
  end: number;
  text: string;
}

const K = ts.SyntaxKind;

const OPERATORS: Partial<Record<ts.SyntaxKind, string[]>> = {
  [K.LessThanToken]: ["<=", ">="],
  [K.LessThanEqualsToken]: ["<", ">"],
  [K.GreaterThanToken]: [">=", "<="],
  [K.GreaterThanEqualsToken]: [">", "<"],
  [K.EqualsEqualsEqualsToken]: ["!=="],
  [K.ExclamationEqualsEqualsToken]: ["==="],
  [K.PlusToken]: ["-"],
  [K.MinusToken]: ["+"],
  [K.AsteriskToken]: ["/"],
  [K.SlashToken]: ["*"],
  [K.PlusEqualsToken]: ["-="],
  [K.MinusEqualsToken]: ["+="],
  [K.AmpersandAmpersandToken]: ["||"],
  [K.BarBarToken]: ["&&"],
};
const SWAPPED: Record<string, string> = {
  min: "max",
  max: "min",
  leadingSpace: "trailingSpace",
  trailingSpace: "leadingSpace",
  splice: "slice",
  push: "unshift",
};

function edits(source: ts.SourceFile): Edit[] {
  const found = new Map<string, Edit>();
  const replace = (node: ts.Node, text: string) => {
    const edit = { start: node.getStart(source), end: node.getEnd(), text };
    found.set(JSON.stringify(edit), edit);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isTypeNode(node) || ts.isInterfaceDeclaration(node))
      return;
    if (ts.isTypeAliasDeclaration(node) || ts.isTemplateExpression(node)) return;
    for (const text of changes(node, source)) replace(node, text);
    if (ts.isIfStatement(node)) negate(node.expression);
    if (ts.isConditionalExpression(node)) negate(node.condition);
    ts.forEachChild(node, visit);
  };
  const negate = (test: ts.Expression) => replace(test, `!(${test.getText(source)})`);
  ts.forEachChild(source, visit);
  return [...found.values()].sort((a, b) => a.start - b.start || a.end - b.end);
}

/** Return what may stand in the place of `node`. */
function changes(node: ts.Node, source: ts.SourceFile): string[] {
  const text = node.getText(source);
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === K.QuestionQuestionToken) {
    // A literal on the right is there for the type checker's sake, more often than not.
    return ts.isLiteralExpression(node.right)
      ? []
      : [node.left, node.right].map((side) => side.getText(source));
  }
  if (ts.isToken(node) && OPERATORS[node.kind] && ts.isBinaryExpression(node.parent)) {
    return OPERATORS[node.kind] ?? [];
  }
  if (ts.isPrefixUnaryExpression(node)) return [node.operand.getText(source)];
  if (ts.isNumericLiteral(node)) {
    if (isFallback(node)) return [];
    const value = Number(text);
    return value > 0 ? [String(value + 1), String(value - 1)] : [String(value + 1)];
  }
  if (node.kind === K.TrueKeyword) return ["false"];
  if (node.kind === K.FalseKeyword) return ["true"];
  if (ts.isStringLiteral(node)) return text.includes(" ") ? [] : [node.text ? '""' : '"?"'];
  if (ts.isRegularExpressionLiteral(node)) return [text.replace(/i(?=[a-z]*$)/, "")];
  if (
    ts.isIdentifier(node) &&
    (ts.isCallExpression(node.parent) || ts.isPropertyAccessExpression(node.parent))
  ) {
    return SWAPPED[text] ? [SWAPPED[text]] : [];
  }
  if (ts.isReturnStatement(node) || ts.isThrowStatement(node)) return [";"];
  return ts.isExpressionStatement(node) && !text.startsWith("super(") ? [";"] : [];
}

/** Whether it stands behind a `??` for the type checker's sake alone. */
function isFallback({ parent }: ts.NumericLiteral): boolean {
  return ts.isBinaryExpression(parent) && parent.operatorToken.kind === K.QuestionQuestionToken;
}

const listed = process.argv.slice(2).map((file) => {
  const text = readFileSync(file, "utf8");
  return [file, edits(ts.createSourceFile(file, text, ts.ScriptTarget.ES2024, true))];
});
process.stdout.write(JSON.stringify(Object.fromEntries(listed)));
