"""Result types as rows infer them: whether a tensor can have them, and whether a declared type is the inferred one."""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import cast

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.expressions import Call, Symbol
from flambeau.dialects.ir.extent_attribute import ExtentAttr
from flambeau.dialects.ir.extents import Extent, exceeds, free_symbols, may_equal, provably_equal, symbol_of
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, is_float8, shape_of

_TOO_LARGE = 1 << 60
"""A size that no dimension has."""


class UndecidedTypesError(VerifyException):
    """An error of an operator whose result types depend on extents that are known only at run time."""


def check_types(operands: Sequence[Attribute], results: Sequence[Tensor], stores: bool) -> None:
    """Raises ValueError for a result with a size that no dimension can have, and for float8 unless the operator `stores` it."""
    found = None if stores else next((element for kind in (*operands, *results) if is_float8(element := element_of(kind))), None)
    if found is not None:
        raise ValueError(f"not defined for {dtype_of(found).torch} tensors: they are stored and moved; convert them to compute")
    for axis, extent in ((axis, extent) for kind in results for axis, extent in enumerate(shape_of(kind))):
        if exceeds(0, extent) or exceeds(extent, _TOO_LARGE - 1):
            raise ValueError(f"dimension {axis} of the result would have the size {extent}")


def fits(declared: Attribute, inferred: Attribute) -> bool:
    """Returns whether a declared result type has the inferred element type, and a shape that may equal the inferred shape.

    Different layouts are accepted here; the edge level checks layouts.
    """
    if declared == inferred:
        return True
    if not isinstance(declared, TensorType) or not isinstance(inferred, TensorType):
        return False
    left, right = cast(Tensor, declared), cast(Tensor, inferred)
    if left.element_type != right.element_type:
        return False
    shapes = left.get_shape(), right.get_shape()
    if DYNAMIC_INDEX not in shapes[0] + shapes[1]:
        return shapes[0] == shapes[1]
    sizes, found = shape_of(left), shape_of(right)
    symbols = {symbol for extent in found for symbol in free_symbols(extent)}
    return len(sizes) == len(found) and all(_may_be(a, b, symbols) for a, b in zip(sizes, found, strict=True))


def _may_be(declared: int, inferred: int, symbols: Set[Symbol]) -> bool:
    """Returns whether a result may declare this extent instead of the inferred extent; `symbols` are those of the inferred shape.

    Two different sums of products of symbols differ in some run, so the extents must be provably equal. But a condition of the program,
    such as that a size is even, may decide quotients, remainders, minimums and maximums, and whether an extent is a number. Such extents
    only must not be provably different. This also applies to a declared symbol that the inferred shape does not contain: the symbol is a
    new name for a size.
    """
    name = symbol_of(declared)
    if (name is not None and name not in symbols) or any(map(_depends_on_conditions, (declared, inferred))):
        return may_equal(declared, inferred)
    return provably_equal(declared, inferred)


def refuse_other_sizes(op: Operation, declared: Sequence[Attribute], inferred: Sequence[Attribute]) -> None:
    """Raises VerifyException for a result whose declared size is the size of an input that is unrelated to the inferred size.

    A symbol that the inferred shape does not contain is a new name for a size. Such a symbol is refused only if it is the size of an
    argument of the function and no assertion contains the symbol.
    """
    for index, (kind, found) in enumerate(zip(declared, inferred, strict=True)):
        if kind == found or not isinstance(kind, TensorType) or DYNAMIC_INDEX not in kind.get_shape():
            continue
        sizes = zip(shape_of(cast(Tensor, kind)), shape_of(cast(Tensor, found)), strict=True)
        for dim, (size, right) in enumerate(sizes):
            symbol = symbol_of(size)
            if symbol is None or provably_equal(size, right) or _depends_on_conditions(right) or symbol in free_symbols(right):
                continue
            around = _function_around(op)
            if around is not None and _is_given(symbol, around) and not _is_asserted(symbol, around):
                given = f"dimension {dim} of result {index} is {symbol}, another size of the inputs"
                raise VerifyException(f"{op.name}: {given}; the operator gives {right}")


def _function_around(op: Operation) -> FuncOp | None:
    around = op.parent_op()
    while around is not None and not isinstance(around, FuncOp):
        around = around.parent_op()
    return around


def _is_given(symbol: Symbol, function: FuncOp) -> bool:
    """Returns whether a symbol is a size of an argument."""
    kinds = [cast(Tensor, kind) for kind in function.function_type.inputs if isinstance(kind, TensorType)]
    return any(symbol_of(size) == symbol for kind in kinds for size in shape_of(kind))


def _is_asserted(symbol: Symbol, function: FuncOp) -> bool:
    """Returns whether the function asserts something about a symbol."""
    asserted = (item for op in function.walk() if op.name == "flambeau.assert" for item in op.properties.values())
    return any(symbol in free_symbols(item.value) for item in asserted if isinstance(item, ExtentAttr))


def _depends_on_conditions(value: int) -> bool:
    """Returns whether a value is not a sum of products of symbols."""
    if not isinstance(value, Extent) or value.expression is None:
        return True
    return any(isinstance(atom, Call) for monomial, _ in value.expression.terms for atom in monomial)
