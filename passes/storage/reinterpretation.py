"""Operators whose result is bytes of their operand in the same order: the conditions, and the offset of the bytes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.edge.layout import byte_strides, dim_order
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.literals import BoolOp, IntListOp, IntOp, NoneOp, TensorListOp
from flambeau.dialects.exec.slots import nbytes
from flambeau.dialects.ir.tensor_types import is_static, shape_of, tensor_type

Literal: TypeAlias = "int | tuple[int, ...] | None"


@dataclass(frozen=True)
class Part:
    """A slot that holds a part of another's bytes (or all of them)."""

    slot: SSAValue
    source: SSAValue
    offset: int


@dataclass(frozen=True)
class Cut:
    """A part of a tensor: `length` entries of `dim` from `start` on, `dim` itself perhaps left out."""

    dim: int
    start: int
    length: int
    keeps_dim: bool = True


def memory_ranks(type: Attribute | SSAValue) -> tuple[int, ...]:
    """Returns the order in memory of the dimensions that are not 1, each by its position among them in the shape."""
    shape = shape_of(type)
    rank = {dim: index for index, dim in enumerate(dim for dim, extent in enumerate(shape) if extent != 1)}
    return tuple(rank[dim] for dim in dim_order(type) if dim in rank)


def reshaped(source: Attribute | SSAValue, result: Attribute | SSAValue) -> bool:
    """Returns whether elements in logical order, as reshaping keeps them, are the same bytes in both."""
    left, right = memory_ranks(source), memory_ranks(result)
    if left == tuple(range(len(left))) and right == tuple(range(len(right))):
        return True
    extents = [tuple(extent for extent in shape_of(type) if extent != 1) for type in (source, result)]
    return extents[0] == extents[1] and left == right


def permuted(source: Attribute | SSAValue, result: Attribute | SSAValue, dims: Sequence[int]) -> bool:
    """Returns whether `result`, whose dimension i is dimension `dims[i]` of `source`, has the same bytes."""
    shape = shape_of(result)
    here = [dims[dim] for dim in dim_order(result) if shape[dim] != 1]
    there = shape_of(source)
    return here == [dim for dim in dim_order(source) if there[dim] != 1]


def cut_offset(whole: Attribute | SSAValue, part: Attribute | SSAValue, cut: Cut) -> int | None:
    """Returns the offset in `whole` of the bytes of `part`; None when they do not lie together, or lie in another order."""
    shape = shape_of(whole)
    order = dim_order(whole)
    outer = order[: order.index(cut.dim)]
    if cut.length != shape[cut.dim] and any(shape[dim] != 1 for dim in outer):
        return None
    kept = [dim for dim in range(len(shape)) if cut.keeps_dim or dim != cut.dim]
    extents = shape_of(part)
    here = [kept[dim] for dim in dim_order(part) if extents[dim] != 1]
    there = [dim for dim in order if (cut.length if dim == cut.dim else shape[dim]) != 1]
    return cut.start * byte_strides(whole)[cut.dim] if here == there else None


# Arguments of calls


def literal(slot: SSAValue) -> Literal:
    """Returns the number or numbers that a slot is declared with. Raises TypeError for other slots."""
    match slot.owner:
        case IntOp():
            return slot.owner.number
        case BoolOp():
            return int(slot.owner.truth)
        case NoneOp():
            return None
        case IntListOp():
            return tuple(_integer(item) for item in slot.owner.items)
        case _:
            raise TypeError(f"{slot.type} holds no numbers")


def _integer(slot: SSAValue) -> int:
    found = literal(slot)
    if not isinstance(found, int):
        raise TypeError(f"{slot.type} holds no number")
    return found


def _integers(slot: SSAValue) -> tuple[int, ...]:
    found = literal(slot)
    return found if isinstance(found, tuple) else (_integer(slot),)


def tensors_of(slot: SSAValue) -> tuple[SSAValue, ...]:
    """Returns the tensors of a list, or the one tensor."""
    return tuple(slot.owner.items) if isinstance(slot.owner, TensorListOp) else (slot,)


# Operators

Rule: TypeAlias = Callable[[Sequence[SSAValue], Sequence[SSAValue]], "list[int] | None"]
"""From the inputs of a call and the tensors it writes to the offset of each in the first input; None when some has none."""


def _reshape(ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> list[int] | None:
    return [0] if reshaped(ins[0], outs[0]) else None


def _parts(ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> list[int] | None:
    # The real and imaginary part of a number stand side by side, and in a tensor of both the last dimension is the innermost one.
    pairs, numbers = (ins[0], outs[0]) if len(shape_of(ins[0])) > len(shape_of(outs[0])) else (outs[0], ins[0])
    return [0] if dim_order(pairs) == (*dim_order(numbers), len(shape_of(numbers))) else None


def _copy(ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> list[int] | None:
    same = shape_of(ins[0]) == shape_of(outs[0]) and memory_ranks(ins[0]) == memory_ranks(outs[0])
    return [0] if same else None


def permutation(operator: str, ins: Sequence[SSAValue]) -> tuple[int, ...] | None:
    """Returns which dimension of the operand each dimension of the result is; None for operators that permute nothing."""
    rank = len(shape_of(ins[0])) if ins else 0
    match operator:
        case "aten::permute_copy.out":
            return tuple(dim % max(rank, 1) for dim in _integers(ins[1]))
        case "aten::transpose_copy.int_out":
            dims = list(range(rank))
            if dims:
                first, second = _integer(ins[1]) % rank, _integer(ins[2]) % rank
                dims[first], dims[second] = dims[second], dims[first]
            return tuple(dims)
        case "aten::t_copy.out":
            return tuple(reversed(range(rank)))
        case _:
            return None


def _permute(operator: str) -> Rule:
    def rule(ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> list[int] | None:
        dims = permutation(operator, ins)
        return [0] if dims is not None and permuted(ins[0], outs[0], dims) else None

    return rule


def _cuts(make: Callable[[Sequence[SSAValue], int, int], Sequence[Cut] | None]) -> Rule:
    def rule(ins: Sequence[SSAValue], outs: Sequence[SSAValue]) -> list[int] | None:
        cuts = make(ins, len(shape_of(ins[0])), len(outs))
        if cuts is None or len(cuts) != len(outs):
            return None
        offsets = [cut_offset(ins[0], out, cut) for cut, out in zip(cuts, outs, strict=True)]
        return None if None in offsets else [offset for offset in offsets if offset is not None]

    return rule


def _slice(ins: Sequence[SSAValue], rank: int, _: int) -> Sequence[Cut] | None:
    dim = _integer(ins[1]) % max(rank, 1)
    extent = shape_of(ins[0])[dim]
    start, end, step = literal(ins[2]), literal(ins[3]), _integer(ins[4])
    low, high, _ = slice(start if isinstance(start, int) else None, end if isinstance(end, int) else None).indices(extent)
    length = max(high - low, 0)
    return [Cut(dim, low, length)] if step == 1 or length <= 1 else None


def _select(ins: Sequence[SSAValue], rank: int, _: int) -> Sequence[Cut] | None:
    dim = _integer(ins[1]) % rank
    return [Cut(dim, _integer(ins[2]) % shape_of(ins[0])[dim], 1, keeps_dim=False)]


def _narrow(ins: Sequence[SSAValue], rank: int, _: int) -> Sequence[Cut] | None:
    dim = _integer(ins[1]) % rank
    return [Cut(dim, _integer(ins[2]) % shape_of(ins[0])[dim], _integer(ins[3]))]


def _consecutive(dim: int, lengths: Sequence[int]) -> list[Cut]:
    cuts: list[Cut] = []
    start = 0
    for length in lengths:
        cuts.append(Cut(dim, start, length))
        start += length
    return cuts


def _split(ins: Sequence[SSAValue], rank: int, _: int) -> Sequence[Cut] | None:
    dim, length = _integer(ins[2]) % rank, _integer(ins[1])
    extent = shape_of(ins[0])[dim]
    return _consecutive(dim, [min(length, extent - start) for start in range(0, extent, length)]) if length > 0 else None


def _split_with_sizes(ins: Sequence[SSAValue], rank: int, _: int) -> Sequence[Cut] | None:
    return _consecutive(_integer(ins[2]) % rank, _integers(ins[1]))


def _unbind(ins: Sequence[SSAValue], rank: int, count: int) -> Sequence[Cut] | None:
    dim = _integer(ins[1]) % rank
    return [Cut(dim, index, 1, keeps_dim=False) for index in range(count)]


RULES: dict[str, Rule] = {
    "aten::view_copy.out": _reshape,
    "aten::_unsafe_view.out": _reshape,
    "aten::squeeze_copy.out": _reshape,
    "aten::squeeze_copy.dim_out": _reshape,
    "aten::squeeze_copy.dims_out": _reshape,
    "aten::unsqueeze_copy.out": _reshape,
    "aten::view_as_complex_copy.out": _parts,
    "aten::view_as_real_copy.out": _parts,
    "aten::alias_copy.out": _copy,
    "aten::detach_copy.out": _copy,
    "aten::lift_fresh_copy.out": _copy,
    "aten::clone.out": _copy,
    "aten::_to_copy.out": _copy,
    "aten::expand_copy.out": _copy,
    "dim_order_ops::_to_dim_order_copy.out": _copy,
    "dim_order_ops::_clone_dim_order.out": _copy,
    "aten::permute_copy.out": _permute("aten::permute_copy.out"),
    "aten::transpose_copy.int_out": _permute("aten::transpose_copy.int_out"),
    "aten::t_copy.out": _permute("aten::t_copy.out"),
    "aten::slice_copy.Tensor_out": _cuts(_slice),
    "aten::select_copy.int_out": _cuts(_select),
    "aten::narrow_copy.out": _cuts(_narrow),
    "aten::split_copy.Tensor_out": _cuts(_split),
    "aten::split_with_sizes_copy.out": _cuts(_split_with_sizes),
    "aten::unbind_copy.int_out": _cuts(_unbind),
}
"""By kernel: when its result lies in its operand."""


def reinterpretation(op: CallOp) -> list[Part] | None:
    """Returns the slots that a call writes as parts of the slot that it reads; None when it does more than reinterpret bytes."""
    rule = RULES.get(op.operator.data)
    if rule is None or not op.ins or len(op.outs) != 1:
        return None
    source = op.ins[0]
    outs = tensors_of(op.outs[0])
    if not is_static(source, *outs) or (rule is not _parts and any(nbytes(out.type) == 0 for out in outs)):
        return None
    element = tensor_type(source).element_type
    if rule is not _parts and any(tensor_type(out).element_type != element for out in outs):
        return None
    try:
        offsets = rule(tuple(op.ins), outs)
    except (TypeError, ZeroDivisionError, ValueError):
        return None
    return None if offsets is None else [Part(out, source, offset) for out, offset in zip(outs, offsets, strict=True)]
