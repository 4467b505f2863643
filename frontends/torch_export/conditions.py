"""Imports the conditions of a program on the sizes of its inputs: those of `torch._check`, and those under which the model branches.

PyTorch keeps them as text, in a `.pt2` file too: `L['x'].size()[0] / L['y'].size()[0] <= 2.0`.
"""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TypeAlias, cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree
from xdsl.dialects import cf
from xdsl.dialects.builtin import f64, i1, i64
from xdsl.ir import Attribute, Operation

from flambeau.dialects.flambeau.symbol_operations import AssertOp
from flambeau.dialects.ir.extents import maximum, minimum
from flambeau.frontends.torch_export.data_numbers import Arithmetic, Comparison, Number, is_size
from flambeau.frontends.torch_export.exported_symbols import Symbols

_Value: TypeAlias = bool | int | float | Comparison | Number
_OPERATORS: Mapping[type[ast.AST], str] = {
    ast.Add: "add",
    ast.And: "and",
    ast.Div: "truediv",
    ast.Eq: "eq",
    ast.FloorDiv: "floordiv",
    ast.Gt: "gt",
    ast.GtE: "ge",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Mod: "mod",
    ast.Mult: "mul",
    ast.Not: "not",
    ast.NotEq: "ne",
    ast.Or: "or",
    ast.Pow: "pow",
    ast.Sub: "sub",
    ast.USub: "neg",
}
_OF_SIZES: Mapping[str, Callable[..., int]] = {
    **{name: getattr(operator, name) for name in ("abs", "add", "floordiv", "mod", "mul", "neg", "sub")},
    "max": maximum,
    "min": minimum,
}
"""Functions whose result on sizes is a size."""
_TRUTHS = frozenset({"and", "or", "not", "eq", "ne", "lt", "le", "gt", "ge"})
_ROUNDING = frozenset({"ceil", "floor", "round", "trunc"})
_KEEPING = frozenset({*_OF_SIZES, "ite"})
"""Functions whose result on integers is an integer; that of all others is a float."""
_PART = re.compile(r"(.+)_(\d+)")
"""How PyTorch names one of the inputs that are given for `*name`."""


def conditions_of(program: ExportedProgram) -> Sequence[str]:
    """Returns the conditions of a program as PyTorch writes them, without those on the base memory of example inputs that are views."""
    found: Sequence[str] = getattr(program, "_guards_code", ())
    return [condition for condition in found if "._base." not in condition]


def assert_condition(condition: str, sizes: Mapping[str, int]) -> Sequence[Operation]:
    """Returns the operations that assert a condition on sizes; none if the ranges prove it.

    Args:
        condition: the condition as PyTorch writes it.
        sizes: the result of `dynamic_sizes`.

    Raises:
        ValueError: the condition has no form in the IR; the message says why.
    """
    wanted = ast.parse(condition, mode="eval").body
    made: list[Operation] = []
    text = ast.unparse(_Named(sizes).visit(ast.parse(condition, mode="eval")))
    try:
        found = _Reader(sizes, Arithmetic(made.append)).read(wanted)
    except (TypeError, ValueError) as error:
        raise ValueError(f"the condition {text} on the sizes of the inputs cannot be checked: {error}") from error
    if isinstance(found, Comparison):
        op = AssertOp(found.left, found.relation, found.right)
        return () if op.is_proven else (op,)
    if found is True:
        return ()
    return [*made, cf.AssertOp(Arithmetic(made.append).value(found, i1), f"{text} must hold")]


def dynamic_sizes(program: ExportedProgram, symbols: Symbols) -> dict[str, int]:
    """Returns the dynamic sizes and numbers among the inputs, by the expressions that PyTorch writes for them."""
    found: dict[str, int] = {}
    kinds = [spec.kind for spec in program.graph_signature.input_specs]
    placeholders = [node for node in program.graph.nodes if node.op == "placeholder"]
    given = [node.meta.get("val") for node, kind in zip(placeholders, kinds, strict=True) if kind is InputKind.USER_INPUT]
    for words, value in zip(_words(program, len(given)), given, strict=True):
        sizes = [(f".size()[{axis}]", size) for axis, size in enumerate(value.shape)] if isinstance(value, torch.Tensor) else [("", value)]
        for suffix, size in sizes:
            if isinstance(size, torch.SymInt):
                found |= {f"{word}{suffix}": symbols.extent(size) for word in words}
    return found


def _words(program: ExportedProgram, count: int) -> Sequence[Sequence[str]]:
    """Returns the expressions that PyTorch writes for each input: by its position, and by its name in the model's `forward`."""
    words = [[f"L['flat_args'][{place}]"] for place in range(count)]
    spec, signature = program.call_spec.in_spec, program.module_call_graph[0].signature
    if spec is None or signature is None or signature.forward_arg_names is None:
        return words
    args, kwargs = pytree.tree_unflatten(range(count), spec)
    named = dict(zip(signature.forward_arg_names, args, strict=False)) | kwargs
    for (first, *inner), place in pytree.tree_leaves_with_path(named):
        name, rest = str(cast(pytree.MappingKey[str, int], first).key), pytree.keystr(tuple(inner))
        part = _PART.fullmatch(name)
        words[place] += [f"L['{name}']{rest}", *([f"L['{part[1]}'][{part[2]}]{rest}"] if part is not None else [])]
    return words


class _Named(ast.NodeTransformer):
    """A transformer that replaces PyTorch's expressions for sizes by the names of the sizes."""

    def __init__(self, sizes: Mapping[str, int]):
        self.sizes = sizes

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        size = self.sizes.get(ast.unparse(node))
        return node if size is None else ast.parse(str(size).replace(" mod ", " % ").replace(" floordiv ", " // "), mode="eval").body

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Removes module prefixes and conversions of sizes to float."""
        name = _name(node)
        inner = [self.visit(argument) for argument in node.args]
        return inner[0] if name == "float" else ast.Call(ast.Name(name), inner, [])


def _name(call: ast.Call) -> str:
    """Returns the function that a call in PyTorch's notation names: `math.trunc`, `torch.sym_float`, `torch._sym_sqrt`, `round`."""
    return ast.unparse(call.func).rpartition(".")[2].removeprefix("_").removeprefix("sym_")


@dataclass(frozen=True)
class _Reader:
    """A reader of conditions: each part becomes an extent if possible, else arithmetic in the program."""

    sizes: Mapping[str, int]
    arithmetic: Arithmetic

    def read(self, node: ast.AST) -> _Value:
        """Returns the value of a part of the condition. Raises ValueError and TypeError."""
        match node:
            case ast.Constant(value=bool() | int() | float() as value):
                return value
            case ast.Subscript() if (size := self.sizes.get(ast.unparse(node))) is not None:
                return size
            case ast.Compare():
                sides = pairwise(self.read(side) for side in (node.left, *node.comparators))
                return self._fold(
                    "and", [self._apply(_OPERATORS[type(relation)], *pair) for relation, pair in zip(node.ops, sides, strict=True)]
                )
            case ast.BoolOp():
                return self._fold(_OPERATORS[type(node.op)], [self.read(value) for value in node.values])
            case ast.BinOp() if type(node.op) in _OPERATORS:
                return self._apply(_OPERATORS[type(node.op)], self.read(node.left), self.read(node.right))
            case ast.UnaryOp() if type(node.op) in _OPERATORS:
                return self._apply(_OPERATORS[type(node.op)], self.read(node.operand))
            case ast.IfExp():
                return self._apply("ite", self.read(node.test), self.read(node.body), self.read(node.orelse))
            case ast.Call(keywords=[]):
                name, operands = _name(node), [self.read(argument) for argument in node.args]
                return self._fold(name, operands) if name in ("max", "min") else self._apply(name, *operands)
            case _:
                raise ValueError(f"{ast.unparse(node)} has no form in the IR")

    def _fold(self, function: str, operands: Sequence[_Value]) -> _Value:
        return reduce(lambda first, second: self._apply(function, first, second), operands)

    def _apply(self, function: str, *operands: _Value) -> _Value:
        if function in _OF_SIZES and all(is_size(operand) for operand in operands):
            return _OF_SIZES[function](*operands)
        if function == "pow" and is_size(operands[1]) and operands[1] > 0:
            return self._fold("mul", [operands[0]] * operands[1])
        found = self.arithmetic.compute(function, operands, _kind(function, operands))
        if found is None:
            raise ValueError(f"{function} of {len(operands)} numbers has no form in the IR")
        return found


def _kind(function: str, operands: Sequence[_Value]) -> Attribute:
    """Returns the result type of a function."""
    if function in _TRUTHS:
        return i1
    if function in _ROUNDING or (function in _KEEPING and not any(_is_float(operand) for operand in operands)):
        return i64
    return f64


def _is_float(value: _Value) -> bool:
    return isinstance(value, float) or (isinstance(value, Number) and value.value.type == f64)
