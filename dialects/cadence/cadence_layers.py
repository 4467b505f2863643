"""Layers of quantized numbers: linear layers, and convolutions of rows and of images."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import f32, i8

from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.cadence.fixed_point import check_bias, check_operands, check_ratio, check_zero_points, requantized
from flambeau.dialects.fused.quantized import MOST_PRODUCTS
from flambeau.dialects.ir.tensor_types import Tensor, element_of, numel, shape_of, tensor, ui8
from flambeau.dialects.schema.namespace import cadence
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

_LINEAR = (
    "Tensor src, Tensor weight, Tensor bias, int src_zero_point, int weight_zero_point, int out_multiplier, int out_shift,"
    " int out_zero_point, Tensor? offset) -> (Tensor Z)"
)


@cadence("quantized_fully_connected.per_tensor(" + _LINEAR)
@cadence(
    "quantized_linear.per_tensor(Tensor src, Tensor weight, Tensor bias, SymInt src_zero_point, SymInt weight_zero_point,"
    " SymInt out_multiplier, SymInt out_shift, SymInt out_zero_point, Tensor? offset) -> Tensor"
)
class QuantizedLinearOp(SchemaOp):
    """A linear layer of quantized numbers. `offset` is not read."""

    @staticmethod
    def infer(
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        /,
        src_zero_point: int,
        weight_zero_point: int,
        out_multiplier: int,
        out_shift: int,
        out_zero_point: int,
    ) -> Tensor:
        check_operands(x, weight)
        check_zero_points(x, src_zero_point, weight_zero_point, out_zero_point)
        check_ratio(out_multiplier, out_shift)
        shape, features = shape_of(x), shape_of(weight)
        if not shape or len(features) != 2 or features[1] != shape[-1]:
            raise ValueError(f"the weight must have the shape [out features, in features], got {list(features)} for {list(shape)}")
        if features[1] > MOST_PRODUCTS:
            raise ValueError(f"a sum can have {MOST_PRODUCTS} products, got {features[1]}")
        check_bias(bias, features[0])
        return tensor(element_of(x), (*shape[:-1], features[0]))

    @staticmethod
    def numpy(
        x: Array,
        weight: Array,
        bias: Array,
        /,
        src_zero_point: int,
        weight_zero_point: int,
        out_multiplier: int,
        out_shift: int,
        out_zero_point: int,
    ) -> Array:
        # Sums of at most 2 ** 32 are exact in float64, whose products are fast.
        sums = (x.astype(np.float64) - src_zero_point) @ (weight.astype(np.float64) - weight_zero_point).T
        return requantized(sums, bias, out_multiplier, out_shift, out_zero_point, x, x.ndim - 1)


@cadence("quantized_fully_connected_asym8sxasym8s_asym8s.per_tensor(" + _LINEAR)
@cadence("quantized_linear_asym8sxasym8s_asym8s.per_tensor(" + _LINEAR)
class QuantizedLinearSignedOp(QuantizedLinearOp):
    """A linear layer of int8."""

    takes = frozenset({i8})


@cadence("quantized_fully_connected_asym8uxasym8u_asym8u.per_tensor(" + _LINEAR)
@cadence("quantized_linear_asym8uxasym8u_asym8u.per_tensor(" + _LINEAR)
class QuantizedLinearUnsignedOp(QuantizedLinearOp):
    """A linear layer of uint8."""

    takes = frozenset({ui8})


_MATMUL = (
    "Tensor X, int X_zero_point, Tensor Y, int Y_zero_point, Tensor? bias, int out_multiplier, int out_shift, int out_zero_point,"
    " bool transposed=False) -> (Tensor Z)"
)


@cadence("quantized_matmul(" + _MATMUL)
class QuantizedMatmulOp(SchemaOp):
    """Products of matrices of quantized numbers, in equal batches; those of the second operand may be transposed. There is no bias."""

    @staticmethod
    def infer(
        X: Tensor,
        X_zero_point: int,
        Y: Tensor,
        Y_zero_point: int,
        bias: Tensor | None,
        out_multiplier: int,
        out_shift: int,
        out_zero_point: int,
        transposed: bool,
    ) -> Tensor:
        check_operands(X, Y)
        check_zero_points(X, X_zero_point, Y_zero_point, out_zero_point)
        check_ratio(out_multiplier, out_shift)
        if bias is not None:
            raise ValueError("a bias has no meaning")
        (*batch, rows, depth), other = shape_of(X) if len(shape_of(X)) > 1 else (0, 0), shape_of(Y)
        columns = other[-2 if transposed else -1] if len(other) > 1 else 0
        if len(shape_of(X)) < 2 or other != (*batch, *((columns, depth) if transposed else (depth, columns))):
            raise ValueError(f"no products of matrices {list(shape_of(X))} and {list(other)}{', transposed' if transposed else ''}")
        if depth > MOST_PRODUCTS:
            raise ValueError(f"a sum can have {MOST_PRODUCTS} products, got {depth}")
        return tensor(element_of(X), (*batch, rows, columns))

    @staticmethod
    def numpy(
        X: Array,
        X_zero_point: int,
        Y: Array,
        Y_zero_point: int,
        out_multiplier: int,
        out_shift: int,
        out_zero_point: int,
        transposed: bool,
    ) -> Array:
        right = Y.astype(np.float64) - Y_zero_point
        sums = (X.astype(np.float64) - X_zero_point) @ (np.swapaxes(right, -1, -2) if transposed else right)
        return requantized(sums, np.zeros(1), out_multiplier, out_shift, out_zero_point, X, X.ndim - 1)


@cadence("quantized_matmul_asym8sxasym8s_asym8s(" + _MATMUL)
class QuantizedMatmulSignedOp(QuantizedMatmulOp):
    """Products of matrices of int8."""

    takes = frozenset({i8})


@cadence("quantized_matmul_asym8uxasym8u_asym8u(" + _MATMUL)
class QuantizedMatmulUnsignedOp(QuantizedMatmulOp):
    """Products of matrices of uint8."""

    takes = frozenset({ui8})


_WINDOW = (
    "Tensor input, Tensor weight, Tensor bias, int[] stride, SymInt[] padding, int[] dilation, int groups, int input_zero_point,"
    " int weight_zero_point, float bias_scale, float out_scale, int out_zero_point, int out_multiplier, int out_shift"
)
_CONVOLUTION = _WINDOW + ") -> (Tensor Z)"
_WITH_OFFSET = _WINDOW + ", Tensor? offset=None) -> (Tensor Z)"


def _channels_first(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape of images or rows whose channels come last, or of their weight, with the channels before the image."""
    return *shape[:1], *shape[-1:], *shape[1:-1]


@cadence("quantized_conv2d_nchw.per_tensor(" + _CONVOLUTION)
class QuantizedConvolutionOp(SchemaOp):
    """A convolution of quantized images, or of rows, whose channels come first. `bias_scale` and `out_scale` tell the ratio again."""

    dims: ClassVar[tuple[int, ...]] = (3, 4)
    """How many dimensions the input may have."""

    @classmethod
    def shapes(cls, x: tuple[int, ...], weight: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the shapes of the input and the weight, channels first."""
        return x, weight

    @classmethod
    def infer(
        cls,
        x: Tensor,
        weight: Tensor,
        bias: Tensor,
        /,
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
        input_zero_point: int,
        weight_zero_point: int,
        out_zero_point: int,
        out_multiplier: int,
        out_shift: int,
    ) -> Tensor:
        check_operands(x, weight)
        check_zero_points(x, input_zero_point, weight_zero_point, out_zero_point)
        check_ratio(out_multiplier, out_shift)
        rank = len(shape_of(x)) - 2
        if rank + 2 not in cls.dims or any(len(item) != rank for item in (stride, padding, dilation)):
            dims = " or ".join(map(str, cls.dims))
            raise ValueError(f"input must have {dims} dimensions, and each window as many numbers, got {list(shape_of(x))}")
        images, kernel = (tensor(f32, shape) for shape in cls.shapes(shape_of(x), shape_of(weight)))
        found = shape_of(ConvolutionOp.infer(images, kernel, None, stride, padding, dilation, False, (0,) * rank, groups))
        if (products := numel(kernel) // shape_of(kernel)[0]) > MOST_PRODUCTS:
            raise ValueError(f"a sum can have {MOST_PRODUCTS} products, got {products}")
        check_bias(bias, found[1])
        return tensor(element_of(x), cls.result_shape(found))

    @classmethod
    def result_shape(cls, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of the result, which is given with channels first."""
        return shape

    @staticmethod
    def numpy(
        x: Array,
        weight: Array,
        bias: Array,
        /,
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
        input_zero_point: int,
        weight_zero_point: int,
        out_zero_point: int,
        out_multiplier: int,
        out_shift: int,
    ) -> Array:
        images, kernel = x.astype(np.float64) - input_zero_point, weight.astype(np.float64) - weight_zero_point
        sums = ConvolutionOp.numpy(images, kernel, None, stride, padding, dilation, False, (0,) * (x.ndim - 2), groups)
        return requantized(sums, bias, out_multiplier, out_shift, out_zero_point, x, 1)


@cadence("quantized_conv2d_nchw_depthwise_asym8sxsym8s_asym8s.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv2d_nchw_dilated_asym8sxsym8s_asym8s.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv2d_nchw_asym8sxsym8s_asym8s.per_tensor(" + _CONVOLUTION)
class QuantizedConvolutionSignedOp(QuantizedConvolutionOp):
    """A convolution of int8."""

    takes = frozenset({i8})


@cadence("quantized_conv2d_nchw_depthwise_asym8uxsym8u_asym8u.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv2d_nchw_dilated_asym8uxsym8u_asym8u.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv2d_nchw_asym8uxsym8u_asym8u.per_tensor(" + _CONVOLUTION)
class QuantizedConvolutionUnsignedOp(QuantizedConvolutionOp):
    """A convolution of uint8."""

    takes = frozenset({ui8})


@cadence("quantized_depthwise_conv1d_ncl.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv1d_ncl.per_tensor(" + _CONVOLUTION)
class QuantizedRowsOp(QuantizedConvolutionOp):
    """A convolution of quantized rows, whose channels come first."""

    dims = (3,)


class ChannelsLastOp(QuantizedConvolutionOp):
    """A convolution whose channels come last, also in the weight. A depthwise one may have a weight without a dimension of inputs."""

    @classmethod
    def shapes(cls, x: tuple[int, ...], weight: tuple[int, ...]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Returns the shapes of the input and the weight, channels first."""
        return _channels_first(x), (*weight[-1:], 1, *weight[:-1]) if len(weight) == len(x) - 1 else _channels_first(weight)

    @classmethod
    def result_shape(cls, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of the result, which is given with channels first."""
        return *shape[:1], *shape[2:], *shape[1:2]

    @staticmethod
    def numpy(
        x: Array,
        weight: Array,
        bias: Array,
        /,
        stride: tuple[int, ...],
        padding: tuple[int, ...],
        dilation: tuple[int, ...],
        groups: int,
        input_zero_point: int,
        weight_zero_point: int,
        out_zero_point: int,
        out_multiplier: int,
        out_shift: int,
    ) -> Array:
        kernel = np.moveaxis(weight, -1, 1) if weight.ndim == x.ndim else np.moveaxis(weight, -1, 0)[:, None]
        window, zero_points = (stride, padding, dilation, groups), (input_zero_point, weight_zero_point, out_zero_point)
        found = QuantizedConvolutionOp.numpy(np.moveaxis(x, -1, 1), kernel, bias, *window, *zero_points, out_multiplier, out_shift)
        return np.ascontiguousarray(np.moveaxis(found, 1, -1))


@cadence("quantized_conv2d_nhwc.per_tensor(" + _WITH_OFFSET)
class QuantizedConvolutionLastOp(ChannelsLastOp):
    """A convolution of quantized images whose channels come last, also in the weight. `offset` is not read.

    A depthwise one may have a weight without a dimension of inputs: [height, width, outputs].
    """

    dims = (4,)


@cadence("quantized_conv2d_nhwc_depthwise_asym8sxsym8s_asym8s.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv2d_nhwc_dilated_asym8sxsym8s_asym8s.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv2d_nhwc_asym8sxsym8s_asym8s.per_tensor(" + _CONVOLUTION)
class QuantizedConvolutionLastSignedOp(QuantizedConvolutionLastOp):
    """A convolution of int8, channels last."""

    takes = frozenset({i8})


@cadence("quantized_conv2d_nhwc_depthwise_asym8uxsym8u_asym8u.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv2d_nhwc_dilated_asym8uxsym8u_asym8u.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv2d_nhwc_asym8uxsym8u_asym8u.per_tensor(" + _CONVOLUTION)
class QuantizedConvolutionLastUnsignedOp(QuantizedConvolutionLastOp):
    """A convolution of uint8, channels last."""

    takes = frozenset({ui8})


@cadence("quantized_depthwise_conv1d_nlc.per_tensor(" + _CONVOLUTION)
@cadence("quantized_conv1d_nlc.per_tensor(" + _WITH_OFFSET)
class QuantizedRowsLastOp(ChannelsLastOp):
    """A convolution of quantized rows whose channels come last, also in the weight."""

    dims = (3,)
