"""Splits of a tensor in parts, for backends that compute the parts as slices."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp


def splits_integers(op: SchemaOp) -> str | None:
    """Between integers."""
    readers = [use.operation for result in op.results for use in result.uses]
    is_between = isinstance(op.operands[0].owner, DequantizePerTensorOp) and all(isinstance(item, QuantizePerTensorOp) for item in readers)
    return None if is_between else "its operand is not dequantized, or its results are not just quantized"


def as_slices(x: SSAValue, sizes: Sequence[int], dim: int) -> list[SSAValue]:
    """Returns the parts of a `split_with_sizes` as slices."""
    return [aten.slice.Tensor(x, dim, sum(sizes[:index]), sum(sizes[: index + 1])) for index in range(len(sizes))]
