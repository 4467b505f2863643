"""Layer norm of quantized numbers."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f32

from flambeau.dialects.cadence.fixed_point import check_operands, check_scales, check_zero_points, quantized
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of
from flambeau.dialects.schema.families import require_shape
from flambeau.dialects.schema.namespace import cadence
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

MOST_NUMBERS = 2**20
"""The most numbers over which is normalised: their squares add up to 64 bits."""


@cadence(
    "quantized_layer_norm.per_tensor(Tensor X, float X_scale, int X_zero_point, int[] normalized_shape, Tensor weight, Tensor bias,"
    " float eps, float output_scale, int output_zero_point) -> (Tensor Y)"
)
class QuantizedLayerNormOp(SchemaOp):
    """Quantized numbers normalised over their last dimensions, times weight plus bias, in float32: their moments are exact."""

    @staticmethod
    def infer(
        X: Tensor,
        X_scale: float,
        X_zero_point: int,
        normalized_shape: tuple[int, ...],
        weight: Tensor,
        bias: Tensor,
        eps: float,
        output_scale: float,
        output_zero_point: int,
    ) -> Tensor:
        check_operands(X)
        check_zero_points(X, X_zero_point, output_zero_point)
        check_scales(X_scale, output_scale)
        shape, numbers = tuple(normalized_shape), math.prod(normalized_shape)
        if not shape or shape_of(X)[-len(shape) :] != shape or not 0 < numbers <= MOST_NUMBERS:
            given = f"{list(shape)} for {list(shape_of(X))}"
            raise ValueError(f"normalized_shape must be the last sizes, of at most {MOST_NUMBERS} numbers, got {given}")
        for name, parameter in (("weight", weight), ("bias", bias)):
            require_shape(name, parameter, shape)
            if element_of(parameter) != f32:
                raise TypeError(f"{name} must be of float32")
        if not 0 < eps <= 1:
            raise ValueError(f"eps must be above 0, and at most 1, got {eps}")
        return X

    @staticmethod
    def numpy(
        X: Array,
        X_scale: float,
        X_zero_point: int,
        normalized_shape: tuple[int, ...],
        weight: Array,
        bias: Array,
        eps: float,
        output_scale: float,
        output_zero_point: int,
    ) -> Array:
        axes, count = tuple(range(X.ndim - len(normalized_shape), X.ndim)), math.prod(normalized_shape)
        numbers = X.astype(np.int64) - X_zero_point
        total, squares = numbers.sum(axes, keepdims=True), (numbers * numbers).sum(axes, keepdims=True)
        variance = (count * squares - total * total).astype(np.float64) / (float(count) * float(count))
        factor = (X_scale / np.sqrt(variance * X_scale * X_scale + eps)).astype(np.float32)
        centred = numbers.astype(np.float32) - (total.astype(np.float64) / count).astype(np.float32)
        return quantized(centred * factor * weight + bias, output_scale, output_zero_point, X)
