"""Calls of elementwise kernels, and the functions of vectors that compute the same."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xdsl.dialects.builtin import Float32Type, TensorType
from xdsl.ir import SSAValue

from flambeau.dialects.exec import literals
from flambeau.dialects.ir.tensor_types import is_static, tensor_type
from flambeau.runtime.manifest import ElementwiseRow, elementwise_rows

_EXACT = 2**24
"""Integers up to this one are exact as floats."""


def is_float_tensor(slot: SSAValue) -> bool:
    """Returns whether a slot is a tensor of floats of 32 bits and of static sizes."""
    return isinstance(slot.type, TensorType) and is_static(slot) and isinstance(tensor_type(slot).element_type, Float32Type)


def elementwise_row(operator: str, arguments: Sequence[SSAValue], changed: Collection[SSAValue] = ()) -> ElementwiseRow | None:
    """Returns the function that computes an operator of these arguments, without the outs; None if there is none.

    `changed` are the literals that a run changes.
    """
    for row in elementwise_rows().get(operator, ()):
        if len(row.arguments) == len(arguments) and all(
            _fits(kind, slot) and slot not in changed for kind, slot in zip(row.arguments, arguments, strict=True)
        ):
            return row
    return None


def number_of(slot: SSAValue) -> float | None:
    """Returns the number that a literal is, if it is one that floats can hold as well as the Scalars of kernels can."""
    match slot.owner:
        case literals.IntOp() if abs(slot.owner.number) <= _EXACT:
            return float(slot.owner.number)
        case literals.DoubleOp():
            return slot.owner.number
        case _:
            return None


def _fits(kind: str, slot: SSAValue) -> bool:
    match kind:
        case "v":
            return is_float_tensor(slot)
        case "s" | "p":
            return number_of(slot) is not None
        case "=none" if isinstance(slot.owner, literals.NoneOp):
            return True
        case _ if isinstance(slot.owner, literals.StringOp):
            return kind == f"={slot.owner.value.data}"
        case _:
            number = number_of(slot)
            return number is not None and kind == f"={number:.17g}"
