"""Weights as palettes: 16 numbers for each weight, and 4 bits for each of its elements."""

from __future__ import annotations

from xdsl.ir import Operation

from flambeau.backends.coreml.dialect.compressed import PALETTE, LutToDenseMilOp
from flambeau.backends.coreml.dialect.movement import GatherMilOp
from flambeau.backends.coreml.dialect.products import ConvMilOp, ConvTransposeMilOp, LinearMilOp, MatmulMilOp
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import element_of, f32, tensor, ui8
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.uses import replace_uses
from flambeau.support.lazy import Array, np

_LEAST = 2048
"""The fewest elements of a weight that becomes a palette; coremltools has the same."""
_ROUNDS = 100
_WEIGHTS: dict[type[Operation], int] = {ConvMilOp: 1, ConvTransposeMilOp: 1, LinearMilOp: 1, MatmulMilOp: 1, GatherMilOp: 0}
"""The operators with weights, and which operand is one."""


def palettize(partition: PartitionOp, constants: ModuleConstants) -> None:
    """Rewrites the constant weights of a partition, in float32, as palettes. Each element becomes the nearest number."""
    block = partition.body.block
    for load in [op for op in block.ops if isinstance(op, GlobalLoadConstantOp)]:
        weight = load.result
        is_weight = any(_WEIGHTS.get(type(use.operation)) == use.index for use in weight.uses)
        if not is_weight or element_of(weight) != f32:
            continue
        array = constants.elements(weight)
        if array.size < _LEAST or not np.isfinite(array).all():
            continue
        name, (indices, table) = constants.name(weight), palette(array)
        loads = (
            constants.add(f"{name}.indices", indices, tensor(ui8, array.shape)),
            constants.add(f"{name}.lut", table, tensor(f32, table.shape)),
        )
        whole = LutToDenseMilOp(*(item.result for item in loads))
        for op in (*loads, whole):
            op.location = load.location
            if op.parent is None:
                block.insert_op_before(op, load)
        replace_uses(weight, whole.result, lambda use: _WEIGHTS.get(type(use.operation)) == use.index)


def palette(array: Array) -> tuple[Array, Array]:
    """Returns the places of the elements in a table, and the table: the numbers themselves, or the means of k-means."""
    ordered = np.sort(array, None).astype(np.float64)
    distinct = np.unique(array)
    if len(distinct) <= PALETTE:
        table = np.append(distinct, np.repeat(distinct[-1:], PALETTE - len(distinct))).astype(np.float64)
    else:
        table = ordered[np.linspace(0, len(ordered) - 1, PALETTE).round().astype(int)]
        sums = np.append(0, ordered.cumsum())
        for _ in range(_ROUNDS):
            ends = np.array([0, *np.searchsorted(ordered, (table[1:] + table[:-1]) / 2), len(ordered)])
            counts = np.diff(ends)
            means = np.where(counts > 0, np.diff(sums[ends]) / np.maximum(counts, 1), table)
            if (means == table).all():
                break
            table = np.sort(means)
    indices = np.searchsorted((table[1:] + table[:-1]) / 2, array)
    return indices.astype(np.uint8), table.astype(np.float32)
