"""Imports computations with sizes: numbers become extents, `item()` defines a symbol, `torch._check` an assertion.

PyTorch applies a condition of `torch._check` on a data-dependent number in the whole program: a range, a value, equality with an input
size. The imported program applies the condition only after the check, which comes directly after the program reads the number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import sympy
import torch
from xdsl.dialects import cf
from xdsl.dialects.builtin import TensorType, f64, i1, i64
from xdsl.ir import SSAValue

from flambeau.dialects.flambeau.symbol_operations import HOLDS, SIGNS, AssertOp, DefineSymbolOp
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import dtype_of, element_of, shape_of
from flambeau.dialects.schema.namespace import aten
from flambeau.frontends.torch_export.data_numbers import Arithmetic, Comparison, DataNumber, Item, Number, is_of_sizes, is_size
from flambeau.frontends.torch_export.exported_graph import ASSERTIONS, Step
from flambeau.frontends.torch_export.exported_symbols import Symbols
from flambeau.frontends.torch_export.graph_signature import is_large
from flambeau.frontends.torch_export.imported_operators import Insert, UnsupportedError

_ITEM = (torch.ops.aten.item.default, torch.ops.aten._local_scalar_dense.default)
_MADE_UP = "Runtime assertion failed for expression "
"""How the messages begin that PyTorch writes itself."""


@dataclass(frozen=True)
class Inexpressible:
    """A number or truth value computed from sizes or data that has no form in the IR."""

    text: str


def refuse_inexpressible(value: Any) -> None:
    """Raises UnsupportedError if a value is, or contains, a number that has no form in the IR or depends on data."""
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
    """Returns a description of a value that has no form in the IR, for messages."""
    if isinstance(value, Inexpressible):
        return f"{value.text}, which is computed from sizes or data in a way that has no form in the IR,"
    return f"{value}, which does not fit in 64 bits," if is_large(value) else f"a {type(value).__name__}"


def import_number(step: Step, operands: Sequence[Any], symbols: Symbols, insert: Insert) -> Any:
    """Returns the value of a step that computes with numbers: an int, an extent, a data-dependent number, or Inexpressible.

    Passes the operations that compute the value to `insert`.

    Raises:
        UnsupportedError: an assertion, or a number that depends on data, has no form in the IR.
    """
    value: Any = step.node.meta.get("val")
    if step.overload in ASSERTIONS:
        return _import_assertion(step, operands, insert)
    if step.overload in _ITEM:
        return _import_item(step.node.name, value, operands[0], symbols, insert)
    try:
        if is_size(value) or (isinstance(value, torch.SymInt) and all(map(is_of_sizes, operands))):
            return symbols.extent(value)
    except TypeError:
        pass
    if any(not isinstance(item, int | float | Item | Number | Comparison) for item in operands):
        return Inexpressible(str(value))
    kind = f64 if isinstance(value, torch.SymFloat | float) else i1 if isinstance(value, torch.SymBool | bool) else i64
    name = str(getattr(step.node.target, "__name__", ""))
    return Arithmetic(insert).compute(name, operands, kind) or Inexpressible(str(value))


def _import_item(name: str, value: Any, operand: SSAValue, symbols: Symbols, insert: Insert) -> int | Item:
    if isinstance(operand.type, TensorType) and shape_of(operand):
        flat = aten.view(operand, ())
        insert(flat.op)
        operand = flat
    match dtype_of(element_of(operand)).category:
        case 1:
            return _define(name, value, operand, symbols, insert)
        case 0 if (known := _known_truth(value)) is not None:
            arithmetic = Arithmetic(insert)
            holds = Item(operand) if known else arithmetic.compute("not", (Item(operand),), i1)
            insert(cf.AssertOp(arithmetic.value(cast(DataNumber, holds), i1), f"{name} must be {str(known).lower()}"))
            return known
        case _:
            return Item(operand)


def _known_truth(value: Any) -> bool | None:
    """Returns the truth value that PyTorch has for a condition."""
    if isinstance(value, bool):
        return value
    return {sympy.true: True, sympy.false: False}.get(value.node.expr)


def _define(name: str, value: Any, source: SSAValue, symbols: Symbols, insert: Insert) -> int:
    """Returns the integer in a tensor, `value` in PyTorch: a symbol, or after a check the extent that PyTorch equates it with.

    Raises TypeError.
    """
    own, known = symbols.integer(value, name)
    insert(DefineSymbolOp(source, own))
    if own is not known:
        insert(AssertOp(own, "eq", known))
    return known


def _import_assertion(step: Step, operands: Sequence[Any], insert: Insert) -> None:
    """Imports an assertion: about sizes if the condition is a relation between them, else about a truth value."""
    message = str(operands[1]) if len(operands) > 1 else ""
    is_own = not message.startswith(_MADE_UP)
    given: SSAValue | int | float | DataNumber | Inexpressible = operands[0]
    match given:
        case Inexpressible():
            raise UnsupportedError(f"the condition {given.text} has no form in the IR; assert a relation between sizes")
        case False:
            raise UnsupportedError(f"its assertion never holds: {message}")
        case True:
            return
        case Comparison():
            # The assertion is kept even if ranges prove it: it keeps the operation that defines the symbol and checks its range.
            if not (is_known(given.left - given.right) and HOLDS[given.relation](given.left, given.right)):
                insert(AssertOp(given.left, given.relation, given.right, message if is_own and message else None))
        case _:
            arithmetic = Arithmetic(insert)
            holds = arithmetic.truth(given) if isinstance(given, SSAValue) else arithmetic.value(given, i1)
            text = message if is_own else message.removeprefix(_MADE_UP).partition(" on node ")[0]
            text = "" if "Piecewise" in text else text  # not for messages
            insert(cf.AssertOp(holds, text or "an assertion of the program"))


def import_value(item: SSAValue, value: Any, symbols: Symbols, insert: Insert, name: str = "n") -> Any:
    """Returns the tensor or number in a value, `value` in PyTorch, and defines the symbol of an integer. Raises TypeError."""
    if not isinstance(value, torch.SymInt):
        return Number(item) if isinstance(value, torch.SymFloat | torch.SymBool | float | bool) else item
    return _define(name, value, item, symbols, insert)
