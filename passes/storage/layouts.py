"""Permutations that vanish because the kernels on one side of them take tensors in any dim order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from flambeau.dialects.edge.layout import dim_order, with_dim_order
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.exec.slots import TensorOp, nbytes
from flambeau.dialects.ir.tensor_types import Tensor, is_static, shape_of
from flambeau.passes.storage.reinterpretation import Part, permutation
from flambeau.passes.targets.interface import Target


@dataclass(frozen=True)
class Relaid:
    """A permutation that moves no byte once a slot has another dim order."""

    part: Part
    slot: SSAValue
    type: Tensor
    """The new type of `slot`: the permuted tensor, or the one that is permuted."""


def _takes_any_order(slot: SSAValue, permute: CallOp) -> bool:
    """Returns whether all that read or write `slot`, apart from `permute`, take it in any order."""
    users = 0
    for use in slot.uses:
        op = use.operation
        if op is permute:
            continue
        kernel = row_kernels().get(op.operator.data) if isinstance(op, CallOp) else None
        if kernel is None or not kernel.row.any_order or not isinstance(op, CallOp):
            return False
        if use.index < len(op.ins) and use.index not in kernel.positions(kernel.row.any_order):
            return False
        users += 1
    return users > 0


def relaid(op: CallOp, target: Target) -> Relaid | None:
    """Returns the dim orders with which a permutation becomes a view; None when it cannot."""
    if not target.dim_orders or not op.ins or len(op.outs) != 1:
        return None
    try:
        dims = permutation(op)
    except TypeError:
        return None
    if dims is None or not is_static(op.ins[0], op.outs[0]) or not nbytes(op.outs[0].type):
        return None
    source, result = op.ins[0], op.outs[0]
    part = Part(result, source, 0)

    def fits(order: Sequence[int]) -> bool:
        return bool(order) and order[-1] == len(order) - 1 and target.takes(order)

    order = tuple(dims.index(dim) for dim in dim_order(source))
    if isinstance(result.owner, TensorOp) and fits(order) and _takes_any_order(result, op):
        return Relaid(part, result, with_dim_order(result, order))
    order = tuple(dims[dim] for dim in dim_order(result))
    whole = len(dims) == len(shape_of(source))
    if whole and isinstance(source.owner, TensorOp) and fits(order) and _takes_any_order(source, op):
        return Relaid(part, source, with_dim_order(source, order))
    return None
