"""Operators whose result is bytes of their operand in the same order: numpy's views tell which, and where the bytes begin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.movement.permute import PermutingOp
from flambeau.dialects.edge.layout import byte_strides
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.literals import TensorListOp, literal_value
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.ir.tensor_types import element_of, is_static, nbytes, numel, numpy_dtype, shape_of
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.support.lazy import Array, np


@dataclass(frozen=True)
class Part:
    """A slot that holds a part of another's bytes (or all of them)."""

    slot: SSAValue
    source: SSAValue
    offset: int


def unwritten_array(kind: Attribute | SSAValue) -> Array:
    """Returns an array with the shape, dtype and strides of a static tensor. Its memory is reserved, not touched."""
    return np.ndarray(shape_of(kind), numpy_dtype(element_of(kind)), np.empty(nbytes(kind), np.uint8), 0, byte_strides(kind))


def offset_of_view(view: Array, whole: Array, kind: Attribute | SSAValue) -> int | None:
    """Returns the offset in `whole`, in bytes, of a view of it; None for another array, or one that lies in memory unlike `kind`."""
    offset = _address(view) - _address(whole)
    if not 0 <= offset <= whole.nbytes - view.nbytes or view.shape != shape_of(kind):
        return None
    strides = zip(view.shape, view.strides, byte_strides(kind), strict=True)
    return offset if not view.size or all(extent == 1 or found == wanted for extent, found, wanted in strides) else None


def _address(array: Array) -> int:
    return array.__array_interface__["data"][0]


def tensors_of(slot: SSAValue) -> tuple[SSAValue, ...]:
    """Returns the tensors of a list, or the one tensor."""
    return tuple(slot.owner.items) if isinstance(slot.owner, TensorListOp) else (slot,)


def permutation(op: CallOp) -> tuple[int, ...] | None:
    """Returns the dimension of the operand that each dimension of the result is; None for operators that permute nothing.

    Raises TypeError where the permutation is known only at run time.
    """
    kernel = row_kernels().get(op.operator.data)
    if kernel is None or not issubclass(kernel.row, PermutingOp):
        return None
    source, *others = op.ins
    rank = len(shape_of(source))
    order = kernel.row.order(rank, *kernel.arguments([source, *map(literal_value, others)])[1:])
    return tuple(dim % rank for dim in order)


def reinterpretation(op: CallOp) -> list[Part] | None:
    """Returns the slots that a call writes as parts of the slot that it reads; None when it does more than reinterpret bytes.

    So it is where the numpy of the operator's row gives views of an array that lies in memory like the operand, and the results like them.
    """
    kernel = row_kernels().get(op.operator.data)
    if kernel is None or not kernel.row.moves or not op.ins or len(op.outs) != 1 or not isinstance(op.ins[0].type, TensorType):
        return None
    source, outs = op.ins[0], tensors_of(op.outs[0])
    if not is_static(source, *outs):
        return None
    same = all(element_of(out) == element_of(source) for out in outs)
    is_view = kernel.row.siblings["row"].schema.is_view
    # Other operators than views copy elements: only one that keeps their number may keep their places.
    if not (is_view or (same and [numel(source)] == [numel(out) for out in outs])) or (same and any(nbytes(out) == 0 for out in outs)):
        return None
    try:
        whole = unwritten_array(source)
        views = flat_results(kernel.row.call("numpy", kernel.arguments([whole, *map(_argument, op.ins[1:])], element_of(outs[0]))))
    except (TypeError, ValueError, LookupError, ArithmeticError, MemoryError):
        return None
    offsets = [offset_of_view(np.asarray(view), whole, out) for view, out in zip(views, outs, strict=False)]
    parts = [Part(out, source, offset) for out, offset in zip(outs, offsets, strict=False) if offset is not None]
    return parts if len(parts) == len(views) == len(outs) else None


def _argument(slot: SSAValue) -> Any:
    return unwritten_array(slot) if isinstance(slot.type, TensorType) else literal_value(slot)
