"""Arithmetic on quantised tensors."""

from __future__ import annotations

from xdsl.dialects.builtin import f64, i8
from xdsl.ir import Attribute

from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, widened
from flambeau.dialects.aten.linear_algebra.matmul import MmOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, is_float, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import (
    DequantizePerTensorOp,
    QuantizePerTensorOp,
    dequantize_groups,
    float_of,
    quantized_element,
)
from flambeau.dialects.schema.families import chosen_element, require_same_element, require_shape
from flambeau.dialects.schema.namespace import quantized_decomposed
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@quantized_decomposed(
    "add(Tensor a, float a_scale, int a_zero_point, int a_quant_min, int a_quant_max, Tensor b, float b_scale, int b_zero_point, "
    "int b_quant_min, int b_quant_max, float out_scale, int out_zero_point, int out_quant_min, int out_quant_max) -> Tensor qc",
)
class AddOp(SchemaOp):
    """The sum of two quantised tensors, quantised again."""

    inplace = (0, 1)

    @staticmethod
    def infer(
        a: Tensor,
        a_scale: float,
        a_zero_point: int,
        a_quant_min: int,
        a_quant_max: int,
        b: Tensor,
        /,
        out_quant_min: int,
        out_quant_max: int,
    ) -> Tensor:
        if element_of(a) != element_of(b):
            raise TypeError(f"both operands must have one element type, got {element_of(a)} and {element_of(b)}")
        return tensor(quantized_element(element_of(a), out_quant_min, out_quant_max), broadcast(shape_of(a), shape_of(b)))

    @staticmethod
    def numpy(
        a: Array,
        a_scale: float,
        a_zero_point: int,
        a_quant_min: int,
        a_quant_max: int,
        b: Array,
        /,
        b_scale: float,
        b_zero_point: int,
        b_quant_min: int,
        b_quant_max: int,
        out_scale: float,
        out_zero_point: int,
        out_quant_min: int,
        out_quant_max: int,
    ) -> Array:
        element = element_of_array(a)
        left = DequantizePerTensorOp.numpy(a, a_scale, a_zero_point, None)
        right = DequantizePerTensorOp.numpy(b, b_scale, b_zero_point, None)
        return QuantizePerTensorOp.numpy(left + right, out_scale, out_zero_point, out_quant_min, out_quant_max, element)


def require_mixed(x: Tensor, weight: Tensor, scales: Tensor, zero_points: Tensor | None) -> None:
    """Raises TypeError or ValueError unless a float matrix meets an int8 one with a scale per row."""
    if not is_float(element_of(x)) or element_of(weight) != i8 or len(shape_of(x)) != 2 or len(shape_of(weight)) != 2:
        raise TypeError(f"needs a float matrix and an int8 matrix, got {x} and {weight}")
    require_same_element(x, scales)
    if shape_of(scales)[:1] != shape_of(weight)[:1]:
        raise ValueError(f"scales {list(shape_of(scales))} must have one entry per row of the weight {list(shape_of(weight))}")
    if zero_points is not None:
        raise ValueError("the weight must be quantised symmetrically: no kernel subtracts zero points")


@quantized_decomposed(
    "mixed_mm(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points) -> Tensor",
)
class MixedMmOp(SchemaOp):
    """The product of a float matrix and an int8 matrix with one scale per row."""

    @staticmethod
    def infer(x: Tensor, /, weight: Tensor, weight_scales: Tensor, weight_zero_points: Tensor | None) -> Tensor:
        require_mixed(x, weight, weight_scales, weight_zero_points)
        require_shape("scales", weight_scales, shape_of(weight)[:1])
        return MmOp.infer(x, tensor(element_of(x), shape_of(weight)))

    @staticmethod
    def numpy(x: Array, /, weight: Array, weight_scales: Array) -> Array:
        matrix = dequantize_groups(weight, widened(weight_scales), None, weight.shape[1], element_of_array(widened(x)))
        return np.matmul(widened(x), matrix).astype(x.dtype)


@quantized_decomposed(
    "mixed_linear(Tensor input, Tensor weight, Tensor weight_scales, Tensor? weight_zero_points, ScalarType? dtype=None) -> Tensor",
)
class MixedLinearOp(SchemaOp):
    """input @ weightᵀ for a float input and an int8 weight with one scale per row, or per group of neighbours in a row."""

    @staticmethod
    def infer(x: Tensor, /, weight: Tensor, weight_scales: Tensor, weight_zero_points: Tensor | None, dtype: Attribute | None) -> Tensor:
        require_mixed(x, weight, weight_scales, weight_zero_points)
        rows, columns = shape_of(weight)
        groups = shape_of(weight_scales)[1:]
        if len(groups) > 1:
            raise ValueError(f"scales must have one dimension, or two with groups, got shape {list(shape_of(weight_scales))}")
        if shape_of(x)[1] != columns or any(not count or columns % count for count in groups):
            raise ValueError(f"input {list(shape_of(x))} and scales {list(shape_of(weight_scales))} do not fit weight {[rows, columns]}")
        return tensor(float_of(chosen_element(dtype, element_of(x))), (shape_of(x)[0], rows))

    @staticmethod
    def numpy(x: Array, /, weight: Array, weight_scales: Array, dtype: Attribute | None) -> Array:
        group_size = weight.shape[1] // (weight_scales.shape[1] if weight_scales.ndim == 2 else 1)
        result = chosen_element(dtype, element_of_array(x))
        wide = cast_to(x, result) if result == f64 else widened(x)
        matrix = dequantize_groups(weight, cast_to(weight_scales, element_of_array(wide)), None, group_size, element_of_array(wide))
        return cast_to(np.matmul(wide, matrix.T), result)
