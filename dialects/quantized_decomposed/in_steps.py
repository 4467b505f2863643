"""Operators of quantized numbers in several steps, where a kernel does not take them as they are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from xdsl.dialects.builtin import bf16, f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import ElementType, element_of, is_float, shape_of
from flambeau.dialects.schema.families import chosen_element
from flambeau.dialects.schema.namespace import OperatorName, aten, quantized_decomposed


def sum_of_floats(
    a: SSAValue,
    a_scale: float,
    a_zero: int,
    a_min: int,
    a_max: int,
    b: SSAValue,
    b_scale: float,
    b_zero: int,
    b_min: int,
    b_max: int,
    scale: float,
    zero: int,
    low: int,
    high: int,
) -> SSAValue:
    """Returns the quantized sum of two quantized tensors, added in the type of their numbers."""
    element = element_of(a)
    left = quantized_decomposed.dequantize_per_tensor(a, a_scale, a_zero, a_min, a_max, element)
    right = quantized_decomposed.dequantize_per_tensor(b, b_scale, b_zero, b_min, b_max, element)
    return quantized_decomposed.quantize_per_tensor(aten.add.Tensor(left, right), scale, zero, low, high, element)


def mixed_mm(x: SSAValue, weight: SSAValue, scales: SSAValue, _: None) -> SSAValue:
    """Returns the product with a dequantized weight."""
    return aten.mm(x, aten.mul.Tensor(to_element(weight, element_of(x)), aten.unsqueeze(scales, 1)))


def mixed_linear(x: SSAValue, weight: SSAValue, scales: SSAValue, _: None, dtype: Attribute | None) -> SSAValue:
    """Returns the linear layer with a weight dequantized by channel or by group."""
    result = chosen_element(dtype, element_of(x))
    element = f64 if result == f64 else element_of(x)
    shape = shape_of(weight)
    groups = shape_of(scales)[1] if len(shape_of(scales)) == 2 else 1
    apart = aten.view(to_element(weight, element), (shape[0], groups, shape[1] // groups))
    scaled = aten.mul.Tensor(apart, aten.view(to_element(scales, element), (shape[0], groups, 1)))
    return to_element(aten.mm(to_element(x, element), aten.permute(aten.view(scaled, shape), (1, 0))), result)


def on_singles(operator: OperatorName) -> Callable[..., Sequence[SSAValue] | None]:
    """Returns the operator on the numbers in float32, where that holds them."""

    def single(x: SSAValue, *others: Any) -> Sequence[SSAValue] | None:
        return None if element_of(x) == f64 else operator.results(to_element(x, f32), *others)

    return single


def with_wide_parameters(operator: OperatorName, scales_of: tuple[ElementType, ...]) -> Callable[..., SSAValue | None]:
    """Returns the operator with scales in float64 and zero points in int64, unless that changes a result."""

    def wide(x: SSAValue, scales: SSAValue, zero_points: SSAValue, *others: Any) -> SSAValue | None:
        if element_of(scales) not in scales_of or is_float(element_of(zero_points)):
            return None
        x = to_element(x, f32) if element_of(x) == bf16 else x
        return operator(x, to_element(scales, f64), to_element(zero_points, i64), *others)

    return wide


def _dequantized(x: SSAValue, scales: SSAValue, zero_points: SSAValue | None, dtype: Attribute | None) -> SSAValue:
    """Returns the numbers dequantized with parameters that broadcast."""
    whole = x if zero_points is None else aten.sub.Tensor(to_element(x, i64), zero_points)
    return to_element(aten.mul.Tensor(whole, scales), chosen_element(dtype, f32))


def dequantized_channels(
    x: SSAValue, scales: SSAValue, zero_points: SSAValue | None, axis: int, _0: int, _1: int, _2: Attribute, dtype: Attribute | None
) -> SSAValue:
    """Returns the numbers dequantized by the channels of `axis`."""
    shape = shape_of(x)
    along = tuple(extent if dim == axis % len(shape) else 1 for dim, extent in enumerate(shape))
    return _dequantized(x, aten.view(scales, along), None if zero_points is None else aten.view(zero_points, along), dtype)


def dequantized_tokens(x: SSAValue, scales: SSAValue, zero_points: SSAValue, _0: int, _1: int, _2: Attribute, dtype: Attribute) -> SSAValue:
    """Returns the numbers dequantized with parameters of each token."""
    return _dequantized(x, scales, zero_points, dtype)


def embedding_of(of_table: OperatorName) -> Callable[..., SSAValue]:
    """Returns the lookup with indices of int64, then converted to `dtype`."""

    def in_two_steps(
        weight: SSAValue,
        scales: SSAValue,
        zero_points: SSAValue | None,
        low: int,
        high: int,
        indices: SSAValue,
        dtype: Attribute | None = None,
    ) -> SSAValue:
        found = of_table(weight, scales, zero_points, low, high, to_element(indices, i64))
        return to_element(found, chosen_element(dtype, element_of(scales)))

    return in_two_steps
