"""Mutations of Python. The tree of `ast` says where; the text around the place stays as it is."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import pairwise

from campaigns.mutations import ARITHMETIC, BOUNDARY, NEGATION, Mutation, Operator, off_by_one

_COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}
_NEGATION = {**NEGATION, "is": "is not", "is not": "is", "in": "not in", "not in": "in"}
_ARITHMETIC: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
}
_SWAPPED = {**ARITHMETIC, "//": "*", "%": "//"}
_ATOMS = (ast.Name, ast.Constant, ast.Attribute, ast.Subscript, ast.Call, ast.List, ast.Dict, ast.Set)
_PROMISES = ("strict", "frozen", "slots")
"""Arguments of `zip` and `dataclass` that forbid something, and compute nothing."""
_LEAVES = (ast.Raise, ast.Return, ast.Continue, ast.Break)


def python_mutations(source: str) -> list[Mutation]:
    """Returns all mutations of a module's text, in order of place; type annotations and strings have none.

    Each gives text that parses, or it is left out by `is_python`.

    Raises:
        SyntaxError: the text is not Python.
    """
    return sorted(_Places(source).of(ast.parse(source), ()))


def is_python(source: str) -> bool:
    """Whether a text parses."""
    try:
        ast.parse(source)
    except SyntaxError:
        return False
    return True


class _Places:
    """The mutations of one text."""

    def __init__(self, source: str):
        self.source = source
        self.lines = source.splitlines(keepends=True)
        self.starts = [0]
        for line in self.lines:
            self.starts.append(self.starts[-1] + len(line))

    def of(self, node: ast.AST, scope: tuple[str, ...]) -> Iterator[Mutation]:
        """The mutations of a node and of all inside of it."""
        # The places of the parts of a formatted string are not those of the text.
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.keyword) and node.arg in _PROMISES):
            return
        for operator, start, end, replacement in self._of_node(node):
            yield Mutation(start, end, replacement, operator, ".".join(scope))
        inside = (*scope, node.name) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else scope
        for name, value in ast.iter_fields(node):
            if name in ("annotation", "returns"):
                continue
            for child in value if isinstance(value, list) else [value]:  # pyright: ignore[reportUnknownVariableType]  fields have any type
                if isinstance(child, ast.AST):
                    yield from self.of(child, inside)

    def _of_node(self, node: ast.AST) -> Iterator[tuple[Operator, int, int, str]]:
        match node:
            case ast.Compare():
                for left, operator, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                    symbol = _COMPARISONS[type(operator)]
                    if (place := self._between(left, right, symbol)) is not None:
                        yield "comparison negation", *place, _NEGATION[symbol]
                        if symbol in BOUNDARY:
                            yield "comparison boundary", *place, BOUNDARY[symbol]
            case ast.BinOp(left, operator, right) if (symbol := _ARITHMETIC.get(type(operator))) and not _is_text_or_type(node):
                if (place := self._between(left, right, symbol)) is not None:
                    yield "arithmetic operator", *place, _SWAPPED[symbol]
                if symbol in ("+", "-"):
                    yield "dropped term", *self._span(node), self._operand(left)
            case ast.Constant(bool() as flag):
                yield "flag", *self._span(node), str(not flag)
            case ast.Constant(int() as number) if self._text(node).isdecimal():
                for other in off_by_one(number):
                    yield "constant off by one", *self._span(node), str(other)
            case ast.BoolOp(operator, values):
                word = " and " if isinstance(operator, ast.And) else " or "
                for dropped in range(len(values)):
                    kept = word.join(self._operand(value) for index, value in enumerate(values) if index != dropped)
                    yield "dropped term", *self._span(node), kept if len(values) == 2 else f"({kept})"
            case ast.UnaryOp(ast.Not() | ast.USub(), operand) if not isinstance(operand, ast.Constant):
                yield "inverted condition" if isinstance(node.op, ast.Not) else "dropped term", *self._span(node), self._operand(operand)
            case ast.Call(_, arguments):
                for left, right in pairwise(arguments):
                    texts = self._text(left), self._text(right)
                    if texts[0] != texts[1] and not any(isinstance(item, ast.Starred) for item in arguments):
                        (start, middle), (again, end) = self._span(left), self._span(right)
                        yield "swapped arguments", start, end, texts[1] + self.source[middle:again] + texts[0]
            case ast.If(condition, body, alternative):
                yield from self._inverted(condition)
                if not alternative and isinstance(body[-1], _LEAVES) and not self._text(node).startswith("elif"):
                    yield "dropped check", *self._span(node), "pass"
            case ast.IfExp(condition):
                yield from self._inverted(condition)
            case ast.comprehension(ifs=conditions):
                for condition in conditions:
                    yield from self._inverted(condition)
            case (
                ast.Expr(ast.Call())
                | ast.AugAssign()
                | ast.Assert()
                | ast.Delete()
                | ast.Continue()
                | ast.Break()
                | ast.Assign([ast.Subscript() | ast.Attribute()])
            ):
                yield "dropped statement", *self._span(node), "pass"
            case _:
                pass

    def _inverted(self, condition: ast.expr) -> Iterator[tuple[Operator, int, int, str]]:
        if not (isinstance(condition, ast.UnaryOp) and isinstance(condition.op, ast.Not)):
            yield "inverted condition", *self._span(condition), f"not {self._operand(condition)}"

    def _index(self, line: int, column: int) -> int:
        return self.starts[line - 1] + len(self.lines[line - 1].encode()[:column].decode())

    def _span(self, node: ast.expr | ast.stmt) -> tuple[int, int]:
        return self._index(node.lineno, node.col_offset), self._index(node.end_lineno or 0, node.end_col_offset or 0)

    def _text(self, node: ast.expr | ast.stmt) -> str:
        start, end = self._span(node)
        return self.source[start:end]

    def _operand(self, node: ast.expr) -> str:
        return self._text(node) if isinstance(node, _ATOMS) else f"({self._text(node)})"

    def _between(self, left: ast.expr, right: ast.expr, symbol: str) -> tuple[int, int] | None:
        """The place of an operator between its operands, of which only parentheses and spaces keep it apart."""
        start, end = self._span(left)[1], self._span(right)[0]
        gap = self.source[start:end]
        found = None if "#" in gap else re.search(re.escape(symbol).replace(r"\ ", r"\s+"), gap)
        return found and (start + found.start(), start + found.end())


def _is_text_or_type(node: ast.BinOp) -> bool:
    """Whether an operator joins strings, or the types of an annotation."""
    leaves = [*_leaves(node)]
    if any(isinstance(leaf, ast.JoinedStr) or (isinstance(leaf, ast.Constant) and isinstance(leaf.value, str | bytes)) for leaf in leaves):
        return True
    return isinstance(node.op, ast.BitOr) and any(
        (isinstance(leaf, ast.Constant) and leaf.value is None)
        or (isinstance(leaf, ast.Name) and (leaf.id[0].isupper() or leaf.id in ("int", "float", "bool", "str", "bytes")))
        or (isinstance(leaf, ast.Attribute) and leaf.attr[0].isupper())
        or (isinstance(leaf, ast.Subscript) and ast.unparse(leaf.value).rpartition(".")[2][0].isupper())
        for leaf in leaves
    )


def _leaves(node: ast.expr) -> Iterator[ast.expr]:
    if isinstance(node, ast.BinOp):
        yield from _leaves(node.left)
        yield from _leaves(node.right)
    else:
        yield node
