"""Operators between floats and quantized integers."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import i8, i16, i32
from xdsl.ir import Attribute

from flambeau.backends.onnxruntime.dialect.operators import LEAST_OPSET, OPSET, OnnxOp, onnx
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor, ui8, ui16
from flambeau.dialects.schema.families import require_only
from flambeau.support.lazy import Array, np

BYTES: frozenset[Attribute] = frozenset((i8, ui8))
QUANTIZED: frozenset[Attribute] = BYTES | {i16, ui16}
"""The element types of quantized tensors."""


def _require_parameters(x: Sequence[int], scale: Tensor, zero_point: Tensor, axis: int, block_size: int) -> None:
    """Raises ValueError unless there is a scale and a zero point for a tensor, for each entry of `axis`, or for each block along it."""
    sizes = shape_of(scale)
    if shape_of(zero_point) != sizes:
        raise ValueError(f"its scales {list(sizes)} and zero points {list(shape_of(zero_point))} have other shapes")
    dim = normalize_dim(axis, len(x)) if sizes else 0
    wanted = [*x[:dim], x[dim] // block_size, *x[dim + 1 :]] if block_size else x[dim : dim + 1]
    if sizes and (list(sizes) != list(wanted) or (block_size and x[dim] % block_size)):
        raise ValueError(f"scales of {list(sizes)} do not fit {list(x)} along dimension {axis}")


def _along(parameter: Array, x: Array, axis: int, block_size: int) -> Array:
    """Returns parameters so that they broadcast with a tensor."""
    if block_size:
        return parameter.repeat(block_size, axis)
    return parameter.reshape([-1 if dim == axis % max(x.ndim, 1) else 1 for dim in range(x.ndim)]) if parameter.ndim else parameter


class LinearOnnxOp(OnnxOp):
    """A change between floats and integers in steps of a scale around a zero point."""

    @property
    def opset(self) -> int:
        """Blocks, and integers of 16 bits, came with opset 21."""
        is_old = self.argument("block_size") == 0 and element_of(self.operands[2]) in BYTES | {i32}
        return LEAST_OPSET if is_old else OPSET


@onnx("QuantizeLinear(Tensor x, Tensor y_scale, Tensor y_zero_point, *, int axis=1, int block_size=0, bool saturate=True) -> Tensor")
class QuantizeLinearOp(LinearOnnxOp):
    """x / scale, rounded, plus the zero point, whose type the result has; halves are rounded to even numbers."""

    @staticmethod
    def infer(x: Tensor, scale: Tensor, zero_point: Tensor, /, axis: int, block_size: int, saturate: bool) -> Tensor:
        require_only("saturate", saturate, True)
        if element_of(zero_point) not in QUANTIZED or element_of(scale) != element_of(x):
            raise TypeError(f"it makes {element_of(zero_point)} of {element_of(x)} in steps of {element_of(scale)}")
        _require_parameters(shape_of(x), scale, zero_point, axis, block_size)
        return tensor(element_of(zero_point), shape_of(x))

    @staticmethod
    def numpy(x: Array, scale: Array, zero_point: Array, /, axis: int, block_size: int) -> Array:
        low, high = np.iinfo(zero_point.dtype).min, np.iinfo(zero_point.dtype).max
        whole = np.rint(x / _along(scale, x, axis, block_size)).astype(np.float64)
        shifted = whole + _along(zero_point, x, axis, block_size)
        return np.clip(np.nan_to_num(shifted, nan=low), low, high).astype(zero_point.dtype)


@onnx("DequantizeLinear(Tensor x, Tensor x_scale, Tensor x_zero_point, *, int axis=1, int block_size=0) -> Tensor")
class DequantizeLinearOp(LinearOnnxOp):
    """(x - zero point) * scale, in the type of the scale. Of int32, which biases have, the zero point is 0."""

    takes = QUANTIZED | {i32}

    @staticmethod
    def infer(x: Tensor, scale: Tensor, zero_point: Tensor, /, axis: int, block_size: int) -> Tensor:
        if element_of(zero_point) != element_of(x) or element_of(scale) not in (OnnxOp.takes or ()):
            raise TypeError(f"{element_of(x)} has zero points of {element_of(zero_point)} and scales of {element_of(scale)}")
        _require_parameters(shape_of(x), scale, zero_point, axis, block_size)
        return tensor(element_of(scale), shape_of(x))

    @staticmethod
    def numpy(x: Array, scale: Array, zero_point: Array, /, axis: int, block_size: int) -> Array:
        whole = x.astype(np.int64) - _along(zero_point, x, axis, block_size)
        return (whole.astype(np.float32) * _along(scale, x, axis, block_size)).astype(scale.dtype)
