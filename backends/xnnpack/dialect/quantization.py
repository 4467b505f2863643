"""Nodes that convert floats to quantized integers, and back.

A node of floats between `dequantize` and `quantize` is one node of quantized values in the payload. XNNPACK computes it in integers and
multiplies the sums by ratios of scales in float32, so a result may differ from the rows' by one step. A conversion without such a node is a
`convert` of the payload.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32, i8, i32
from xdsl.ir import Attribute

from flambeau.backends.xnnpack.dialect.nodes import NodeOp, xnnpack
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerChannelOp, DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.support.lazy import Array, np

LEAST, MOST = -128, 127
"""The integers."""
LEAST_TO_MOST = MOST - LEAST


def _typed(element: Attribute, x: Tensor, scales: tuple[float, ...], zero_point: int = 0) -> Tensor:
    """Returns the type of a result. Raises ValueError for scales that are not positive normal numbers, and zero points outside of int8."""
    if not all(2.0**-126 <= scale < float("inf") for scale in scales):
        raise ValueError("scales must be normal positive numbers of float32")
    if not LEAST <= zero_point <= MOST:
        raise ValueError(f"zero point {zero_point} is no integer of 8 bits")
    return tensor(element, shape_of(NodeOp.typed([x], shape_of(x), 0)))


@xnnpack("quantize(float scale, int zero_point, Tensor input) -> Tensor")
class QuantizeNodeOp(NodeOp):
    """Floats quantized to 8-bit integers: clamp(round(x / scale) + zero_point)."""

    takes = frozenset((f32,))
    elementwise = True

    @classmethod
    def infer(cls, scale: float, zero_point: int, x: Tensor, /) -> Tensor:
        return _typed(i8, x, (scale,), zero_point)

    @staticmethod
    def numpy(scale: float, zero_point: int, x: Array, /) -> Array:
        return QuantizePerTensorOp.numpy(x, scale, zero_point, LEAST, MOST, i8)


@xnnpack("dequantize(float scale, int zero_point, Tensor input) -> Tensor")
class DequantizeNodeOp(NodeOp):
    """The floats of quantized integers: (q - zero_point) * scale. The integers of a constant bias have 32 bits."""

    takes = frozenset((i8, i32))
    elementwise = True

    @classmethod
    def infer(cls, scale: float, zero_point: int, x: Tensor, /) -> Tensor:
        return _typed(f32, x, (scale,), zero_point)

    @staticmethod
    def numpy(scale: float, zero_point: int, x: Array, /) -> Array:
        return DequantizePerTensorOp.numpy(x, scale, zero_point, None)


@xnnpack("dequantize_channels(int channel_dim, Tensor input, Tensor scales) -> Tensor")
class DequantizeChannelsNodeOp(NodeOp):
    """The floats of a constant's quantized integers, with a scale for each entry of a dimension: q * scale."""

    takes = frozenset((i8, i32))

    @classmethod
    def infer(cls, channel_dim: int, x: Tensor, scales: Tensor, /) -> Tensor:
        shape = shape_of(x)
        if not 0 <= channel_dim < len(shape) or shape_of(scales) != (shape[channel_dim],) or element_of(scales) != f32:
            raise ValueError(f"there must be a float32 for each entry of dimension {channel_dim} of {list(shape)}, got {scales}")
        return _typed(f32, x, ())

    @staticmethod
    def numpy(channel_dim: int, x: Array, scales: Array, /) -> Array:
        return DequantizePerChannelOp.numpy(x, scales.astype(np.float32), None, channel_dim, None)


@xnnpack("round_rows(int num_nonbatch_dims, Tensor input) -> Tensor")
class RoundRowsNodeOp(NodeOp):
    """The floats that 8-bit integers stand for, to which a run quantizes each row: the last `num_nonbatch_dims` dimensions.

    In float32, with low and high the least and the greatest number of a row and 0: factor = 255 / (high - low), or 1 if both are 0.
    The zero point is -128 - low * factor if -128 + low * factor + 127 + high * factor is positive, else 127 - high * factor; limited to
    [-128, 127], and rounded. Integers q = clamp(round(x * factor) + zero_point) stand for (q - zero_point) * (1 / factor). In the payload,
    this is a `convert` to a quantized value, which `fully_connected` reads.
    """

    takes = frozenset((f32,))

    @classmethod
    def infer(cls, dims: int, x: Tensor, /) -> Tensor:
        shape = shape_of(x)
        if not 1 <= dims <= len(shape):
            raise ValueError(f"a row of {list(shape)} has 1 to {len(shape)} dimensions, not {dims}")
        return cls.typed([x], shape, 0)

    @staticmethod
    def numpy(dims: int, x: Array, /) -> Array:
        rows, single = tuple(range(x.ndim - dims, x.ndim)), np.float32
        with np.errstate(all="ignore"):
            low: Array = np.minimum(x.min(rows, keepdims=True), single(0))
            high: Array = np.maximum(x.max(rows, keepdims=True), single(0))
            factor: Array = np.where(low == high, single(1), single(LEAST_TO_MOST) / (high - low))
            below, above = single(LEAST) - low * factor, single(MOST) - high * factor
            exact: Array = np.where((single(LEAST) + low * factor) + (single(MOST) + high * factor) > 0, below, above)
            zero_point: Array = np.rint(np.clip(exact, single(LEAST), single(MOST)))
            integers = np.clip(np.rint(x * factor), LEAST - zero_point, MOST - zero_point)
            return (integers * (single(1) / factor)).astype(np.float32)


DEQUANTIZE = (DequantizeNodeOp, DequantizeChannelsNodeOp)
