"""Elementwise operators on quantized numbers, and those that make such numbers."""

from __future__ import annotations

from xdsl.dialects.builtin import i8
from xdsl.ir import Attribute

from flambeau.dialects.cadence.fixed_point import (
    check_operands,
    check_ratio,
    check_scales,
    check_zero_points,
    quantized,
    requantized,
)
from flambeau.dialects.ir.tensor_types import Tensor, shape_of, ui8
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.namespace import cadence
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@cadence("quantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> (Tensor Z)")
class QuantizeOp(SchemaOp):
    """The tensor quantised with one scale and zero point."""

    infer = staticmethod(QuantizePerTensorOp.infer)
    numpy = staticmethod(QuantizePerTensorOp.numpy)


@cadence("dequantize_per_tensor(Tensor input, float scale, int zero_point, int quant_min, int quant_max, ScalarType dtype) -> (Tensor Z)")
class DequantizeOp(SchemaOp):
    """The floats of a tensor that was quantised with one scale and zero point."""

    @staticmethod
    def infer(x: Tensor, /, dtype: Attribute) -> Tensor:
        return DequantizePerTensorOp.infer(x, dtype, None)

    @staticmethod
    def numpy(x: Array, /, scale: float, zero_point: int) -> Array:
        return DequantizePerTensorOp.numpy(x, scale, zero_point, None)


_RELU = "Tensor X, int X_zero_point, int out_zero_point, int out_multiplier, int out_shift) -> Tensor"


@cadence("quantized_relu.per_tensor(" + _RELU)
class QuantizedReluOp(SchemaOp):
    """The larger of a quantized number and zero, as a number of another quantized type."""

    elementwise = True
    inplace = (0,)

    @staticmethod
    def infer(x: Tensor, /, X_zero_point: int, out_zero_point: int, out_multiplier: int, out_shift: int) -> Tensor:
        check_operands(x)
        check_zero_points(x, X_zero_point, out_zero_point)
        check_ratio(out_multiplier, out_shift)
        return x

    @staticmethod
    def numpy(x: Array, /, X_zero_point: int, out_zero_point: int, out_multiplier: int, out_shift: int) -> Array:
        positive = np.maximum(x.astype(np.int64) - X_zero_point, 0).reshape(-1, 1)
        return requantized(positive, np.zeros(1), out_multiplier, out_shift, out_zero_point, x, 1).reshape(x.shape)


@cadence("quantized_relu_asym8s_asym8s.per_tensor(" + _RELU)
class QuantizedReluSignedOp(QuantizedReluOp):
    """The larger of an int8 and zero."""

    takes = frozenset({i8})


@cadence("quantized_relu_asym8u_asym8u.per_tensor(" + _RELU)
class QuantizedReluUnsignedOp(QuantizedReluOp):
    """The larger of a uint8 and zero."""

    takes = frozenset({ui8})


_PAIR = (
    "Tensor X, float X_scale, int X_zero_point, Tensor Y, float Y_scale, int Y_zero_point, float out_scale, int out_zero_point) -> Tensor"
)


class _PairOp(SchemaOp):
    """Two quantized tensors of one shape, of which each is dequantized to float32, and what comes of them quantized."""

    elementwise = True
    inplace = (0, 1)

    @staticmethod
    def infer(
        X: Tensor, X_scale: float, X_zero_point: int, Y: Tensor, Y_scale: float, Y_zero_point: int, out_scale: float, out_zero_point: int
    ) -> Tensor:
        check_operands(X, Y)
        check_zero_points(X, X_zero_point, Y_zero_point, out_zero_point)
        if shape_of(X) != shape_of(Y):
            raise ValueError(f"the operands must have one shape, got {list(shape_of(X))} and {list(shape_of(Y))}")
        check_scales(X_scale, Y_scale, out_scale)
        return X


class QuantizedSumOp(_PairOp):
    """The sum of two quantized tensors."""

    @staticmethod
    def numpy(
        X: Array, X_scale: float, X_zero_point: int, Y: Array, Y_scale: float, Y_zero_point: int, out_scale: float, out_zero_point: int
    ) -> Array:
        left = (X.astype(np.int32) - X_zero_point).astype(np.float32) * np.float32(X_scale)
        right = (Y.astype(np.int32) - Y_zero_point).astype(np.float32) * np.float32(Y_scale)
        return quantized(left + right, out_scale, out_zero_point, X)


@cadence("quantized_add_asym8sxasym8s_asym8s.per_tensor(" + _PAIR)
class QuantizedAddSignedOp(QuantizedSumOp):
    """The sum of two tensors of int8."""

    takes = frozenset({i8})


@cadence("quantized_add_asym8uxasym8u_asym8u.per_tensor(" + _PAIR)
class QuantizedAddUnsignedOp(QuantizedSumOp):
    """The sum of two tensors of uint8."""

    takes = frozenset({ui8})
