"""One-change mutants of a Python file, from its syntax tree.

Twin: typescript/tests/mutations.ts, whose positions are the same as long as a source holds no
character past U+FFFF.

A change is what a slip of the hand could be: a bound off by one, a condition the other way round,
`and` for `or`, a lost statement, a wrong constant. Texts for people (those with a space in them)
are left alone, since fixtures compare codes and data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

__all__ = ["Edit", "python_edits"]

Span = tuple[int, int]


class Edit(NamedTuple):
    """A change: the characters of the file from `start` to `end` become `text`."""

    start: int
    end: int
    text: str


OPERATORS: dict[type[ast.AST], list[str]] = {
    ast.Lt: ["<=", ">="],
    ast.LtE: ["<", ">"],
    ast.Gt: [">=", "<="],
    ast.GtE: [">", "<"],
    ast.Eq: ["!="],
    ast.NotEq: ["=="],
    ast.Is: ["is not"],
    ast.IsNot: ["is"],
    ast.In: ["not in"],
    ast.NotIn: ["in"],
    ast.Add: ["-"],
    ast.Sub: ["+"],
    ast.Mult: ["//"],
    ast.FloorDiv: ["*"],
    ast.And: ["or"],
    ast.Or: ["and"],
}
LOSABLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Raise, ast.Delete, ast.Return)
SWAPPED = {"min": "max", "max": "min", "lstrip": "rstrip", "rstrip": "lstrip"}


class PythonEdits(ast.NodeVisitor):
    """Collects the changes of one file."""

    def __init__(self, source: str) -> None:
        self.edits: list[Edit] = []
        self._source = source
        self._lines = source.split("\n")
        self._starts = list(accumulate((len(line) + 1 for line in self._lines), initial=0))

    def _span(self, node: ast.expr | ast.stmt) -> Span:
        end_line, end = node.end_lineno or node.lineno, node.end_col_offset or 0
        return self._offset(node.lineno, node.col_offset), self._offset(end_line, end)

    def _offset(self, line: int, column: int) -> int:
        """Return a position of the tree, whose columns are bytes, as one in the text."""
        before = self._lines[line - 1].encode()[:column]
        return self._starts[line - 1] + len(before.decode())

    def _text(self, span: Span) -> str:
        return self._source[slice(*span)]

    def _replace(self, node: ast.expr | ast.stmt, text: str) -> None:
        self.edits.append(Edit(*self._span(node), text))

    def _negate(self, test: ast.expr) -> None:
        self._replace(test, f"(not ({self._text(self._span(test))}))")

    def _swap_operator(self, left: ast.expr, right: ast.expr, operator: ast.AST) -> None:
        start, end = self._span(left)[1], self._span(right)[0]
        between = self._text((start, end))
        name = between.strip("() \n")
        for other in OPERATORS.get(type(operator), []):
            self.edits.append(Edit(start, end, between.replace(name, other)))

    def visit_Compare(self, node: ast.Compare) -> None:
        sides = [node.left, *node.comparators]
        for left, operator, right in zip(sides, node.ops, node.comparators, strict=False):
            self._swap_operator(left, right, operator)
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if isinstance(node.op, ast.BitOr):
            for side in (node.left, node.right):
                self._replace(node, self._text(self._span(side)))
        self._swap_operator(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._swap_operator(left, right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        self._replace(node, self._text(self._span(node.operand)))
        self.generic_visit(node)

    def visit_If(self, node: ast.If) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node.test)
        self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> None:
        for test in node.ifs:
            self._negate(test)
        self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in SWAPPED:
            self._replace(node, SWAPPED[node.id])

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if node.attr in SWAPPED:
            self._replace(node, f"{self._text(self._span(node.value))}.{SWAPPED[node.attr]}")
        self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        """Leave the values of a `Literal` alone, which is a type."""
        if ast.unparse(node.value) != "Literal":
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        """Leave the type that a value is cast to alone."""
        is_cast = ast.unparse(node.func) == "cast"
        for part in [node.func, *node.args[is_cast:], *node.keywords]:
            self.visit(part)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace(node, str(not value))
        elif isinstance(value, int):
            self._replace(node, str(value + 1))
            if value > 0:
                self._replace(node, str(value - 1))
        elif isinstance(value, str) and " " not in value:
            self._replace(node, '""' if value else '"?"')

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Leave texts with values in them alone: they are for people."""

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        """Leave the annotation alone."""
        if node.value:
            self.visit(node.value)

    def visit_arg(self, node: ast.arg) -> None:
        """Leave the annotation alone."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self.visit(node.args)
        self._visit_body(node.body)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        base = {ast.unparse(each) for each in node.bases}
        if "TypedDict" not in base:
            self._visit_body(node.body)

    def visit_Module(self, node: ast.Module) -> None:
        self._visit_body(node.body)

    def _visit_body(self, body: list[ast.stmt]) -> None:
        for statement in body:
            is_doc = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            is_all = (
                isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__"
            )
            is_type = isinstance(statement, ast.Import | ast.ImportFrom)
            if not (is_doc or is_all or is_type):
                self.visit(statement)

    def visit(self, node: ast.AST) -> None:
        """Visit a node; a statement that does something may also be lost."""
        if isinstance(node, LOSABLE) and node.col_offset > 0:
            self._replace(node, "pass")
        super().visit(node)


def python_edits(source: str) -> Iterator[Edit]:
    """Yield the changes of a Python file, each once, in the file's order."""
    edits = PythonEdits(source)
    edits.visit(ast.parse(source))
    yield from sorted(set(edits.edits))
