"""Quantised numbers: q = clamp(round(x / scale) + zero_point), x ≈ (q - zero_point) * scale."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import f32, f64, i8, i16, i32
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.library.numerics import cast_to
from flambeau.dialects.ir.tensor_types import (
    ElementType,
    Tensor,
    dtype_of,
    element_of,
    is_float,
    normalize_dim,
    numel,
    shape_of,
    tensor,
    ui8,
    ui16,
)
from flambeau.dialects.schema.families import chosen_element
from flambeau.dialects.schema.namespace import aten, quantized_decomposed
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

RANGES: dict[Attribute, tuple[int, int]] = {
    ui8: (0, 255),
    i8: (-128, 127),
    ui16: (0, 65535),
    i16: (-(2**15), 2**15 - 1),
    i32: (-(2**31), 2**31 - 1),
}
"""The element types of quantised tensors, and what they hold."""


def quantized_element(dtype: Attribute, quant_min: int | None = None, quant_max: int | None = None) -> Attribute:
    """Returns the element type of a quantised tensor. Raises TypeError or ValueError when it or the range does not fit."""
    element = chosen_element(dtype, dtype)
    if element not in RANGES:
        raise TypeError(f"a quantised tensor cannot have elements of {dtype_of(element).torch}")
    low, high = RANGES[element]
    if quant_min is not None and quant_max is not None and not low <= quant_min <= quant_max <= high:
        raise ValueError(f"the range {quant_min} to {quant_max} does not fit {dtype_of(element).torch}")
    return element


def require_float(x: Tensor) -> None:
    """Raises TypeError unless the elements are floats."""
    if not is_float(element_of(x)):
        raise TypeError(f"only floats are quantised, got {dtype_of(element_of(x)).torch}")


def require_single(x: Tensor) -> None:
    """Raises TypeError unless the elements are floats of at most 32 bits."""
    require_float(x)
    if element_of(x) == f64:
        raise TypeError("only floats of at most 32 bits are quantised here, got float64")


def float_of(dtype: Attribute | None) -> ElementType:
    """Returns the element type of dequantised numbers, float32 when absent. Raises TypeError for types that are not floats."""
    element = chosen_element(dtype, f32)
    if not is_float(element):
        raise TypeError(f"quantised numbers stand for floats, not for {dtype_of(element).torch}")
    return element


def require_parameters(scales: Tensor, zero_points: Tensor | None) -> None:
    """Raises TypeError unless scales are floats, and zero points too or integers of at least 32 bits, so that no difference overflows."""
    if not is_float(element_of(scales)):
        raise TypeError(f"scales must be floats, got {dtype_of(element_of(scales)).torch}")
    if zero_points is not None and dtype_of(element_of(zero_points)).size < 4 and not is_float(element_of(zero_points)):
        raise TypeError(f"zero points must be of at least 32 bits, got {dtype_of(element_of(zero_points)).torch}")


def require_dtype(x: Tensor, dtype: Attribute) -> None:
    """Raises TypeError unless the elements have the declared type."""
    if element_of(x) != chosen_element(dtype, dtype):
        declared = dtype_of(chosen_element(dtype, dtype)).torch
        raise TypeError(f"the tensor has elements of {dtype_of(element_of(x)).torch}, but dtype is {declared}")


def require_scalar(name: str, x: Tensor) -> None:
    """Raises ValueError unless there is one element."""
    if numel(x) != 1:
        raise ValueError(f"{name} must have one element, got shape {list(shape_of(x))}")


def quantize(x: Array, scale: Any, zero_point: Any, quant_min: int, quant_max: int, dtype: Attribute) -> Array:
    """Returns the numbers quantised, rounding halves to even before the zero point is added."""
    wide = x if x.dtype.name == "float64" else x.astype(np.float32)
    return cast_to(np.clip(np.rint(wide * scale) + zero_point, quant_min, quant_max), chosen_element(dtype, dtype))


@quantized_decomposed(
    "quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
)
class QuantizePerTensorOp(SchemaOp):
    """The tensor quantised with one scale and zero point."""

    @staticmethod
    def infer(x: Tensor, /, quant_min: int, quant_max: int, dtype: Attribute) -> Tensor:
        require_single(x)
        return tensor(quantized_element(dtype, quant_min, quant_max), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scale: float, zero_point: int, quant_min: int, quant_max: int, dtype: Attribute) -> Array:
        return quantize(x, np.float32(1.0 / scale), np.float32(zero_point), quant_min, quant_max, dtype)


@quantized_decomposed(
    "quantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
    out="Tensor_out",
)
class QuantizePerTensorTensorOp(SchemaOp):
    """The tensor quantised with one scale and zero point, which are tensors."""

    @staticmethod
    def infer(x: Tensor, /, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, dtype: Attribute) -> Tensor:
        require_single(x)
        require_parameters(scale, zero_point)
        require_scalar("scale", scale)
        require_scalar("zero_point", zero_point)
        return tensor(quantized_element(dtype, quant_min, quant_max), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scale: Array, zero_point: Array, quant_min: int, quant_max: int, dtype: Attribute) -> Array:
        return QuantizePerTensorOp.numpy(x, scale.item(), zero_point.item(), quant_min, quant_max, dtype)


@quantized_decomposed(
    "dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype, *, "
    "ScalarType? out_dtype=None) -> Tensor",
)
class DequantizePerTensorOp(SchemaOp):
    """The floats of a tensor that was quantised with one scale and zero point."""

    @staticmethod
    def infer(x: Tensor, /, dtype: Attribute, out_dtype: Attribute | None) -> Tensor:
        require_dtype(x, quantized_element(dtype))
        return tensor(float_of(out_dtype), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scale: float, zero_point: int, out_dtype: Attribute | None) -> Array:
        wide = cast_to(x, chosen_element(out_dtype, f32))
        return ((wide - wide.dtype.type(zero_point)) * wide.dtype.type(scale)).astype(wide.dtype)


@quantized_decomposed(
    "dequantize_per_tensor.tensor(Tensor input, Tensor scale, Tensor zero_point, int quant_min, int quant_max, ScalarType dtype, *, "
    "ScalarType? out_dtype=None) -> Tensor",
    out="Tensor_out",
)
class DequantizePerTensorTensorOp(SchemaOp):
    """The floats of a tensor that was quantised with one scale and zero point, which are tensors."""

    @staticmethod
    def infer(
        x: Tensor, /, scale: Tensor, zero_point: Tensor, quant_min: int, quant_max: int, dtype: Attribute, out_dtype: Attribute | None
    ) -> Tensor:
        require_parameters(scale, zero_point)
        require_scalar("scale", scale)
        require_scalar("zero_point", zero_point)
        return DequantizePerTensorOp.infer(x, dtype, out_dtype)

    @staticmethod
    def numpy(
        x: Array, /, scale: Array, zero_point: Array, quant_min: int, quant_max: int, dtype: Attribute, out_dtype: Attribute | None
    ) -> Array:
        return DequantizePerTensorOp.numpy(x, scale.item(), zero_point.item(), out_dtype)


def along(parameter: Array, rank: int, axis: int) -> Array:
    """Returns a vector so that it broadcasts along one dimension."""
    return parameter.reshape([-1 if dim == axis else 1 for dim in range(rank)])


def require_per_channel(x: Tensor, axis: int, *parameters: Tensor | None) -> None:
    """Raises ValueError unless the parameters have one entry per entry of dimension `axis`."""
    extent = shape_of(x)[normalize_dim(axis, len(shape_of(x)))]
    for parameter in parameters:
        if parameter is not None and shape_of(parameter) != (extent,):
            raise ValueError(f"scales and zero points must have shape [{extent}], got {list(shape_of(parameter))}")


@quantized_decomposed(
    "quantize_per_channel(Tensor input, Tensor scales, Tensor zero_points, int axis, int quant_min, int quant_max, ScalarType dtype) -> "
    "Tensor",
)
class QuantizePerChannelOp(SchemaOp):
    """The tensor quantised with one scale and zero point per entry of a dimension."""

    @staticmethod
    def infer(x: Tensor, /, scales: Tensor, zero_points: Tensor, axis: int, quant_min: int, quant_max: int, dtype: Attribute) -> Tensor:
        require_single(x)
        require_parameters(scales, zero_points)
        require_per_channel(x, axis, scales, zero_points)
        return tensor(quantized_element(dtype, quant_min, quant_max), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Array, zero_points: Array, axis: int, quant_min: int, quant_max: int, dtype: Attribute) -> Array:
        dim = normalize_dim(axis, x.ndim)
        inverse = along(scales.dtype.type(1) / scales, x.ndim, dim)
        return quantize(x, inverse, along(zero_points, x.ndim, dim).astype(inverse.dtype), quant_min, quant_max, dtype)


@quantized_decomposed(
    "dequantize_per_channel(Tensor input, Tensor scales, Tensor? zero_points, int axis, int quant_min, int quant_max, ScalarType dtype, "
    "*, ScalarType? out_dtype=None) -> Tensor",
)
class DequantizePerChannelOp(SchemaOp):
    """The floats of a tensor that was quantised with one scale and zero point per entry of a dimension."""

    @staticmethod
    def infer(
        x: Tensor,
        /,
        scales: Tensor,
        zero_points: Tensor | None,
        axis: int,
        quant_min: int,
        quant_max: int,
        dtype: Attribute,
        out_dtype: Attribute | None,
    ) -> Tensor:
        require_dtype(x, quantized_element(dtype, quant_min, quant_max))
        require_parameters(scales, zero_points)
        require_per_channel(x, axis, scales, zero_points)
        return tensor(float_of(out_dtype), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Array, zero_points: Array | None, axis: int, out_dtype: Attribute | None) -> Array:
        dim = normalize_dim(axis, x.ndim)
        return dequantize(x, along(scales, x.ndim, dim), None if zero_points is None else along(zero_points, x.ndim, dim), out_dtype)


def dequantize(x: Array, scales: Array, zero_points: Array | None, dtype: Attribute | None) -> Array:
    """Returns (x - zero_points) * scales, in the type of the scales, then as floats of `dtype` (float32 when absent)."""
    whole = x if zero_points is None else x.astype(np.int64) - zero_points
    return cast_to(whole.astype(scales.dtype) * scales, chosen_element(dtype, f32))


def require_per_token(x: Tensor, *parameters: Tensor) -> None:
    """Raises ValueError unless the parameters have one entry per vector along the last dimension."""
    shape = shape_of(x)
    if not shape or shape[-1] == 0:
        raise ValueError(f"there must be vectors of at least one element, got shape {list(shape)}")
    for parameter in parameters:
        if shape_of(parameter) not in ((*shape[:-1], 1), shape[:-1]) or len(shape_of(parameter)) != len(shape):
            raise ValueError(f"scales and zero points must have shape {[*shape[:-1], 1]}, got {list(shape_of(parameter))}")


@quantized_decomposed(
    "quantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype) -> Tensor",
)
class QuantizePerTokenOp(SchemaOp):
    """The tensor quantised with one scale and zero point per vector along the last dimension; the zero point is added before rounding."""

    @staticmethod
    def infer(x: Tensor, /, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Attribute) -> Tensor:
        require_float(x)
        require_parameters(scales, zero_points)
        require_per_token(x, scales, zero_points)
        return tensor(quantized_element(dtype, quant_min, quant_max), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Array, zero_points: Array, quant_min: int, quant_max: int, dtype: Attribute) -> Array:
        scaled = x * (scales.dtype.type(1) / scales)
        return cast_to(np.clip(np.rint(scaled + zero_points.astype(scaled.dtype)), quant_min, quant_max), chosen_element(dtype, dtype))


@quantized_decomposed(
    "dequantize_per_token(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, "
    "ScalarType output_dtype) -> Tensor",
)
class DequantizePerTokenOp(SchemaOp):
    """The floats of a tensor that was quantised with one scale and zero point per vector along the last dimension."""

    @staticmethod
    def infer(
        x: Tensor, /, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Attribute, output_dtype: Attribute
    ) -> Tensor:
        require_dtype(x, quantized_element(dtype, quant_min, quant_max))
        require_parameters(scales, zero_points)
        require_per_token(x, scales, zero_points)
        return tensor(float_of(output_dtype), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Array, zero_points: Array, output_dtype: Attribute) -> Array:
        return dequantize(x, scales, zero_points, output_dtype)


def group_count(shape: Sequence[int], group_size: int) -> int:
    """Returns the number of groups of a matrix. Raises ValueError."""
    if len(shape) != 2 or group_size < 2 or shape[1] % group_size:
        raise ValueError(f"the rows of shape {list(shape)} do not divide into groups of {group_size}, at least 2")
    return shape[0] * (shape[1] // group_size)


def require_per_group(x: Tensor, group_size: int, *parameters: Tensor | None) -> None:
    """Raises ValueError unless the parameters have one entry per group."""
    count = group_count(shape_of(x), group_size)
    for parameter in parameters:
        if parameter is not None and numel(parameter) != count:
            raise ValueError(f"scales and zero points must have {count} elements, got shape {list(shape_of(parameter))}")


@quantized_decomposed(
    "quantize_per_channel_group(Tensor input, Tensor scales, Tensor zero_points, int quant_min, int quant_max, ScalarType dtype, "
    "int group_size) -> Tensor",
)
class QuantizePerChannelGroupOp(SchemaOp):
    """A matrix quantised with one scale and zero point per group of neighbours in a row; the zero point is added before rounding."""

    @staticmethod
    def infer(
        x: Tensor, /, scales: Tensor, zero_points: Tensor, quant_min: int, quant_max: int, dtype: Attribute, group_size: int
    ) -> Tensor:
        require_float(x)
        require_parameters(scales, zero_points)
        require_per_group(x, group_size, scales, zero_points)
        return tensor(quantized_element(dtype, quant_min, quant_max), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Array, zero_points: Array, quant_min: int, quant_max: int, dtype: Attribute, group_size: int) -> Array:
        groups, rows = x.reshape(-1, group_size), (-1, 1)
        return QuantizePerTokenOp.numpy(groups, scales.reshape(rows), zero_points.reshape(rows), quant_min, quant_max, dtype).reshape(
            x.shape
        )


@quantized_decomposed(
    "dequantize_per_channel_group(Tensor input, Tensor scales, Tensor? zero_points, int quant_min, int quant_max, ScalarType dtype, "
    "int group_size, ScalarType output_dtype) -> Tensor",
)
class DequantizePerChannelGroupOp(SchemaOp):
    """The floats of a matrix that was quantised per group of neighbours in a row."""

    @staticmethod
    def infer(x: Tensor, /, scales: Tensor, zero_points: Tensor | None, group_size: int, output_dtype: Attribute) -> Tensor:
        quantized_element(element_of(x))
        require_parameters(scales, zero_points)
        require_per_group(x, group_size, scales, zero_points)
        return tensor(float_of(output_dtype), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, scales: Array, zero_points: Array | None, group_size: int, output_dtype: Attribute) -> Array:
        return dequantize_groups(x, scales, zero_points, group_size, output_dtype)

    @staticmethod
    def decompose(x: SSAValue, /, scales: SSAValue, zero_points: SSAValue | None, group_size: int, output_dtype: Attribute) -> SSAValue:
        count = group_count(shape_of(x), group_size)
        scales, zeros = aten.view(scales, (count,)), None if zero_points is None else aten.view(zero_points, (count,))
        groups = aten.view(x, (count, group_size))
        # Constants stay integers until the run in this operator, and would not in others.
        element = element_of(x)
        found = quantized_decomposed.dequantize_per_channel(groups, scales, zeros, 0, *RANGES[element], element, out_dtype=output_dtype)
        return aten.view(found, shape_of(x))


def dequantize_groups(x: Array, scales: Array, zero_points: Array | None, group_size: int, dtype: Attribute) -> Array:
    """Returns a matrix dequantised per group of neighbours in a row, in the type of the scales."""
    if not x.size:
        return cast_to(x, dtype)
    groups = x.reshape(-1, group_size).astype(np.int64)
    whole = groups if zero_points is None else groups - zero_points.reshape(-1, 1)
    return cast_to(whole.astype(scales.dtype) * scales.reshape(-1, 1), dtype).reshape(x.shape)
