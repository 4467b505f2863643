"""Imports what a program computes with sizes: numbers become extents, `item()` defines a symbol, `torch._check` an assertion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sympy
import torch
from torch.export import ExportedProgram
from xdsl.dialects import arith
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.flambeau.symbol_operations import HOLDS, SIGNS, AssertOp, DefineSymbolOp, Relation, ValueOp
from flambeau.dialects.ir.diagnostics import remark
from flambeau.dialects.ir.extents import Extent, UndecidedError, symbol_of
from flambeau.dialects.ir.tensor_types import dtype_of, element_of, shape_of
from flambeau.dialects.schema.operators import find_op
from flambeau.frontends.torch_export.exported_graph import ASSERTION, Step
from flambeau.frontends.torch_export.exported_symbols import Symbols
from flambeau.frontends.torch_export.imported_operators import Insert, UnsupportedError

_ITEM = (torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default)
_MADE_UP = "Runtime assertion failed for expression "
"""How the messages begin that PyTorch writes itself."""
_RELATIONS: dict[str, tuple[Relation, bool]] = {
    "Equality": ("eq", False),
    "Unequality": ("ne", False),
    "StrictLessThan": ("lt", False),
    "LessThan": ("le", False),
    "StrictGreaterThan": ("lt", True),
    "GreaterThan": ("le", True),
}
"""By sympy's class: the relation, and whether its sides are exchanged."""
_PREDICATES: dict[Relation, str] = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle"}
"""The predicates of `arith.cmpi`, by relation."""


@dataclass(frozen=True)
class Inexpressible:
    """A number or truth value that is computed from sizes, and has no form as an extent."""

    text: str


@dataclass(frozen=True)
class Comparison:
    """Whether a relation between two sizes holds."""

    left: int
    relation: Relation
    right: int


@dataclass(frozen=True)
class FloatItem:
    """The number in a tensor of floats, which only the run knows."""

    tensor: SSAValue
    """Without dimensions."""


def refuse_inexpressible(value: Any) -> None:
    """Raises UnsupportedError for a number without a form as an extent, or a sequence that has one in it."""
    match value:
        case Comparison():
            raise UnsupportedError(f"it depends on whether {value.left} {SIGNS[value.relation]} {value.right}, which is not a tensor")
        case Inexpressible():
            raise UnsupportedError(f"{value.text} is computed from sizes or data in a way that has no form in the IR")
        case FloatItem():
            raise UnsupportedError("it takes a float that data decides where a tensor has no place; keep it a tensor, without item()")
        case list():
            for item in cast("Sequence[Any]", value):
                refuse_inexpressible(item)
        case _:
            pass


def argument_value(value: Any, is_tensor: bool) -> Any:
    """The value of an operator's argument; a number that data decides is a tensor there. Raises UnsupportedError."""
    if is_tensor and isinstance(value, FloatItem):
        return value.tensor
    refuse_inexpressible(value)
    return value


def described(value: Any) -> str:
    """What a value that has no form is, in words."""
    match value:
        case FloatItem():
            return "a float that data decides"
        case Inexpressible():
            return f"{value.text}, which is computed from sizes or data in a way that has no form in the IR,"
        case _:
            return f"a {type(value).__name__}"


def is_number_step(step: Step) -> bool:
    """Whether a step computes with sizes, or asserts something about them."""
    value = step.node.meta.get("val")
    return isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool) or step.overload is ASSERTION


def import_number(step: Step, operands: Sequence[Any], symbols: Symbols, insert: Insert) -> Any:
    """The value of a step that computes with sizes: an int, an extent, or Inexpressible; operations go to `insert`.

    Raises:
        UnsupportedError: an assertion, or a number that depends on data, has no form in the IR.
    """
    value: Any = step.node.meta.get("val")
    if step.overload is ASSERTION:
        return _import_assertion(step, symbols, insert)
    if step.overload in _ITEM:
        return _import_item(value, operands[0], symbols, insert)
    try:
        if isinstance(value, torch.SymInt):
            return symbols.extent(value)
        if isinstance(value, torch.SymBool) and (found := _comparison(cast(Any, value).node.expr, symbols)) is not None:
            return found
    except TypeError:
        pass
    return Inexpressible(str(value))


def number_value(value: int | Comparison, insert: Insert) -> SSAValue:
    """The value of a number, as an `i64`, or of a comparison, as an `i1`; its operations go to `insert`."""
    if isinstance(value, int):
        insert(op := ValueOp(value))
        return op.result
    left, right = (number_value(side, insert) for side in (value.left, value.right))
    insert(compared := arith.CmpiOp(left, right, _PREDICATES[value.relation]))
    return compared.result


def _import_item(value: Any, operand: SSAValue, symbols: Symbols, insert: Insert) -> int | FloatItem:
    category = dtype_of(element_of(operand)).category
    if category == 0:
        raise UnsupportedError("it gives a bool that depends on data; keep it a tensor, or make it an integer")
    if isinstance(operand.type, TensorType) and shape_of(operand):
        view = find_op("aten.view")
        assert view is not None
        flat = view(operand, ())
        insert(flat)
        operand = flat.result
    if category > 1:
        return FloatItem(operand)
    found = symbols.extent(value)
    if isinstance(found, Extent):
        insert(DefineSymbolOp(operand, found))
    return found


def _import_assertion(step: Step, symbols: Symbols, insert: Insert) -> None:
    condition: Any = step.args[0].meta.get("val") if isinstance(step.args[0], torch.fx.Node) else step.args[0]
    message = str(step.args[1]) if len(step.args) > 1 else ""
    if isinstance(condition, bool):
        if not condition:
            raise UnsupportedError(f"it asserts what never holds: {message}")
        return
    for op in _assertions(condition.node.expr, symbols, None if message.startswith(_MADE_UP) else message):
        insert(op)


def import_integer(item: SSAValue, value: torch.SymInt, symbols: Symbols, insert: Insert) -> int:
    """The number that an `i64` holds, which PyTorch calls `value`; defines its symbol. Raises TypeError."""
    extent = symbols.extent(value)
    if symbol_of(extent) is not None:
        insert(DefineSymbolOp(item, extent))
    return extent


def import_guards(program: ExportedProgram, symbols: Symbols, insert: Insert) -> list[str]:
    """Asserts what `torch._check` and the model ask of the sizes of the inputs, where the ranges do not prove it.

    Gives the conditions that have no form in the IR.
    """
    values = [node.meta.get("val") for node in program.graph.nodes if node.op == "placeholder"]
    tensors = [value for value in values if isinstance(value, torch.Tensor)]
    sizes: list[Any] = [size for value in (*tensors, values) for size in (value.shape if isinstance(value, torch.Tensor) else value)]
    dynamic = [size for size in sizes if isinstance(size, torch.SymInt)]
    given = {symbol for size in dynamic for symbol in cast(Any, size).node.expr.free_symbols}
    guards: Sequence[Any] = cast(Any, dynamic[0]).node.shape_env.guards if dynamic else ()
    left_out: list[str] = []
    for guard in guards:
        if not guard.expr.free_symbols <= given:
            continue
        try:
            for op in _assertions(guard.expr, symbols, None):
                insert(op)
        except UnsupportedError:
            left_out.append(str(guard.expr))
    return left_out


def remark_unchecked(op: Operation, conditions: Sequence[str]) -> None:
    """Says which conditions the program does not check."""
    for condition in conditions:
        remark(op, f"the condition {condition} on the sizes of the inputs is not checked: it has no form in the IR")


def _assertions(expression: Any, symbols: Symbols, message: str | None) -> Iterator[Operation]:
    """The assertions that a truth value of sympy is, without those that the ranges prove."""
    if isinstance(expression, sympy.And):
        for part in expression.args:
            yield from _assertions(part, symbols, message)
        return
    if expression is sympy.true:
        return
    try:
        found = _comparison(expression, symbols)
    except TypeError as error:
        raise UnsupportedError(str(error)) from error
    if found is None:
        raise UnsupportedError(f"the condition {expression} has no form in the IR; assert a relation between sizes")
    try:
        if HOLDS[found.relation](found.left, found.right):
            return
    except UndecidedError:
        pass
    yield AssertOp(found.left, found.relation, found.right, message)


def _comparison(expression: Any, symbols: Symbols) -> Comparison | None:
    """What a truth value of sympy compares; None where it is not one relation. Raises TypeError for sides that have no form here."""
    found = _RELATIONS.get(type(expression).__name__)
    if found is None:
        return None
    relation, exchanged = found
    left, right = (symbols.of(cast(sympy.Expr, side)) for side in (expression.lhs, expression.rhs))
    return Comparison(right, relation, left) if exchanged else Comparison(left, relation, right)
