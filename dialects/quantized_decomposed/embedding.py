"""Embeddings from quantised tables."""

from __future__ import annotations

import math
from typing import ClassVar

from xdsl.ir import Attribute

from flambeau.dialects.aten.indexing.embedding import require_in_range, require_indices, require_rows
from flambeau.dialects.aten.library.numerics import element_of_array
from flambeau.dialects.ir.tensor_types import Tensor, element_of, i8, shape_of, tensor, ui8
from flambeau.dialects.quantized_decomposed.quantize import dequantize_groups, float_of, require_single
from flambeau.dialects.schema.families import chosen_element, require_same_element, require_shape
from flambeau.dialects.schema.namespace import quantized_decomposed
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def unpacked(weight: Array, bits: int) -> Array:
    """Returns a table's numbers as int8: a byte has one 8-bit number, two 4-bit numbers (high first), or four 2-bit numbers (low first)."""
    if bits == 8:
        return weight
    shifts = (4, 0) if bits == 4 else (0, 2, 4, 6)
    parts = [(weight >> shift) & (2**bits - 1) for shift in shifts]
    numbers = np.stack(parts, axis=-1).reshape(weight.shape[0], weight.shape[1] * len(shifts))
    return numbers.astype(np.int8) - np.int8(2 ** (bits - 1))


class QuantizedEmbeddingOp(SchemaOp):
    """The rows of a quantised table at given indices, as floats; there is a scale per row, or per group of neighbours in a row."""

    bits: ClassVar[int] = 8
    """The bits of a number."""

    @classmethod
    def infer(
        cls,
        weight: Tensor,
        weight_scales: Tensor,
        weight_zero_points: Tensor | None,
        weight_quant_min: int,
        weight_quant_max: int,
        indices: Tensor,
        dtype: Attribute | None = None,
    ) -> Tensor:
        require_indices(indices)
        shape, groups = shape_of(weight), shape_of(weight_scales)
        if len(shape) != 2 or element_of(weight) not in (i8, ui8) or (cls.bits < 8 and element_of(weight) != ui8):
            raise TypeError(f"weight must be a matrix of bytes (uint8 where they are packed), got {weight}")
        columns = shape[1] * 8 // cls.bits
        group_size = columns // max(groups[1], 1) if len(groups) == 2 else columns
        if len(groups) not in (1, 2) or groups[0] != shape[0] or group_size < 2 or math.prod(groups[1:]) * group_size != columns:
            raise ValueError(f"scales {list(groups)} do not fit a table of {shape[0]} rows and {columns} columns in groups of at least 2")
        require_rows(shape, 0, math.prod(shape_of(indices)))
        require_single(weight_scales)
        require_same_element(weight_scales, weight_zero_points)
        require_shape("zero points", weight_zero_points, groups)
        if cls.bits < 8 and (weight_quant_min, weight_quant_max) != (-(2 ** (cls.bits - 1)), 2 ** (cls.bits - 1) - 1):
            raise ValueError(f"the range of {cls.bits} bits is not {weight_quant_min} to {weight_quant_max}")
        return tensor(float_of(chosen_element(dtype, element_of(weight_scales))), (*shape_of(indices), columns))

    @classmethod
    def numpy(
        cls, weight: Array, weight_scales: Array, weight_zero_points: Array | None, indices: Array, dtype: Attribute | None = None
    ) -> Array:
        require_in_range(indices, weight.shape[0])
        flat = indices.reshape(-1)
        rows = unpacked(weight[flat], cls.bits)
        group_size = rows.shape[1] // (weight_scales.shape[1] if weight_scales.ndim == 2 else 1)
        found = dequantize_groups(
            rows,
            weight_scales[flat],
            None if weight_zero_points is None else weight_zero_points[flat],
            group_size,
            chosen_element(dtype, element_of_array(weight_scales)),
        )
        return found.reshape(*indices.shape, rows.shape[1])


@quantized_decomposed(
    "embedding_byte.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices, *, ScalarType? dtype=None) -> Tensor",
)
@quantized_decomposed(
    "embedding_byte(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices) -> Tensor",
)
class EmbeddingByteOp(QuantizedEmbeddingOp):
    """The dequantized rows of a table of bytes at given indices, in the type `dtype`, by default that of the scales."""


@quantized_decomposed(
    "embedding_2bit.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices, *, ScalarType? dtype=None) -> Tensor",
)
@quantized_decomposed(
    "embedding_2bit(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices) -> Tensor",
)
class Embedding2bitOp(QuantizedEmbeddingOp):
    """The dequantized rows of a table of 2-bit numbers, four in a byte, in the type `dtype`, by default that of the scales."""

    bits = 2


@quantized_decomposed(
    "embedding_4bit.dtype(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices, *, ScalarType? dtype=None) -> Tensor",
)
@quantized_decomposed(
    "embedding_4bit(Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, int weight_quant_min, int weight_quant_max, "
    "Tensor indices) -> Tensor",
)
class Embedding4bitOp(QuantizedEmbeddingOp):
    """The dequantized rows of a table of 4-bit numbers, two in a byte, in the type `dtype`, by default that of the scales."""

    bits = 4
