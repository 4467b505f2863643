"""Imports what a program computes with sizes: numbers become extents, `item()` defines a symbol, `torch._check` an assertion."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import sympy
import torch
from xdsl.dialects import cf
from xdsl.dialects.builtin import TensorType, f64, i1, i64
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.flambeau.symbol_operations import HOLDS, SIGNS, AssertOp, DefineSymbolOp, Relation
from flambeau.dialects.ir.extents import Extent, UndecidedError, symbol_of
from flambeau.dialects.ir.tensor_types import dtype_of, element_of, shape_of
from flambeau.dialects.schema.operators import find_op
from flambeau.frontends.torch_export.data_numbers import Arithmetic, Comparison, DataNumber, Item, Number
from flambeau.frontends.torch_export.exported_graph import ASSERTION, ASSERTIONS, Step
from flambeau.frontends.torch_export.exported_symbols import Symbols
from flambeau.frontends.torch_export.graph_signature import is_large
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


@dataclass(frozen=True)
class Inexpressible:
    """A number or truth value that is computed from sizes or data, and has no form in the IR."""

    text: str


def refuse_inexpressible(value: Any) -> None:
    """Raises UnsupportedError for a number without a form in the IR or a number that data decides, also within a sequence."""
    match value:
        case Comparison():
            raise UnsupportedError(f"it depends on whether {value.left} {SIGNS[value.relation]} {value.right}, which is not a tensor")
        case Inexpressible():
            raise UnsupportedError(f"{value.text} is computed from sizes or data in a way that has no form in the IR")
        case Item() | Number():
            raise UnsupportedError("it takes a number that data decides where a tensor has no place; keep it a tensor, without item()")
        case list():
            for item in cast("Sequence[Any]", value):
                refuse_inexpressible(item)
        case _:
            pass


def described(value: Any) -> str:
    """What a value that has no form is, in words."""
    if isinstance(value, Inexpressible):
        return f"{value.text}, which is computed from sizes or data in a way that has no form in the IR,"
    return f"{value}, which does not fit in 64 bits," if is_large(value) else f"a {type(value).__name__}"


def import_number(step: Step, operands: Sequence[Any], symbols: Symbols, insert: Insert) -> Any:
    """The value of a step that computes with numbers: an int, an extent, a number that data decides, or Inexpressible.

    Operations go to `insert`.

    Raises:
        UnsupportedError: an assertion, or a number that depends on data, has no form in the IR.
    """
    value: Any = step.node.meta.get("val")
    if step.overload in ASSERTIONS:
        return _import_assertion(step, operands, symbols, insert)
    if step.overload in _ITEM:
        return _import_item(value, operands[0], symbols, insert)
    try:
        if isinstance(value, torch.SymInt):
            return symbols.extent(value)
        if isinstance(value, torch.SymBool) and (found := _comparison(cast(Any, value).node.expr, symbols)) is not None:
            return found
    except TypeError:
        pass
    if any(not isinstance(item, int | float | Item | Number | Comparison) for item in operands):
        return Inexpressible(str(value))
    kind = f64 if isinstance(value, torch.SymFloat) else i1 if isinstance(value, torch.SymBool) else i64
    name = str(getattr(step.node.target, "__name__", ""))
    return Arithmetic(insert).compute(name, operands, kind) or Inexpressible(str(value))


def _import_item(value: Any, operand: SSAValue, symbols: Symbols, insert: Insert) -> int | Item:
    if isinstance(operand.type, TensorType) and shape_of(operand):
        view = find_op("aten.view")
        assert view is not None
        flat = view(operand, ())
        insert(flat)
        operand = flat.result
    if dtype_of(element_of(operand)).category != 1:
        return Item(operand)
    found = symbols.extent(value)
    if isinstance(found, Extent):
        insert(DefineSymbolOp(operand, found))
    return found


def _import_assertion(step: Step, operands: Sequence[Any], symbols: Symbols, insert: Insert) -> None:
    """An assertion about sizes where the condition is one that extents can express, else about a truth value."""
    condition: Any = step.args[0].meta.get("val") if isinstance(step.args[0], torch.fx.Node) else step.args[0]
    message = str(operands[1]) if len(operands) > 1 else ""
    if isinstance(condition, bool):
        if not condition:
            raise UnsupportedError(f"it asserts what never holds: {message}")
        return
    is_own = not message.startswith(_MADE_UP)
    if step.overload is ASSERTION:
        try:
            found = list(_assertions(condition.node.expr, symbols, message if is_own else None))
        except UnsupportedError:
            if isinstance(operands[0], Inexpressible):
                raise
        else:
            for op in found:
                insert(op)
            return
    arithmetic = Arithmetic(insert)
    given: SSAValue | int | float | DataNumber = operands[0]
    holds = arithmetic.truth(given) if isinstance(given, SSAValue) else arithmetic.value(given, i1)
    text = message if is_own else message.removeprefix(_MADE_UP).partition(" on node ")[0]
    insert(cf.AssertOp(holds, text or "an assertion of the program"))


def import_value(item: SSAValue, value: Any, symbols: Symbols, insert: Insert) -> Any:
    """The tensor or number that a value holds, which PyTorch calls `value`; defines the symbol of an integer. Raises TypeError."""
    if not isinstance(value, torch.SymInt):
        return Number(item) if isinstance(value, torch.SymFloat | torch.SymBool | float | bool) else item
    extent = symbols.extent(value)
    if symbol_of(extent) is not None:
        insert(DefineSymbolOp(item, extent))
    return extent


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
    yield from assertion(found, message)


def assertion(found: Comparison, message: str | None = None) -> Sequence[Operation]:
    """The assertion of a relation between sizes; none where the ranges prove it."""
    try:
        if HOLDS[found.relation](found.left, found.right):
            return ()
    except UndecidedError:
        pass
    return (AssertOp(found.left, found.relation, found.right, message),)


def _comparison(expression: Any, symbols: Symbols) -> Comparison | None:
    """What a truth value of sympy compares; None where it is not one relation. Raises TypeError for sides that have no form here."""
    found = _RELATIONS.get(type(expression).__name__)
    if found is None:
        return None
    relation, exchanged = found
    left, right = (symbols.of(cast(sympy.Expr, side)) for side in (expression.lhs, expression.rhs))
    return Comparison(right, relation, left) if exchanged else Comparison(left, relation, right)
