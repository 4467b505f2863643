"""Layers of floats whose weights are integers."""

from __future__ import annotations

from flambeau.dialects.fused.packing import PANEL, panels, unpack_linear_weight
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, f32, i8, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element, require_shape
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array, np


@row(
    "fused",
    "flambeau",
    "weight_only_linear(Tensor input, Tensor packed_weight, Tensor scales, Tensor? bias, int out_features) -> Tensor",
)
class WeightOnlyLinearOp(SchemaOp):
    """(input @ weight.T) * scales + bias; the int8 weight is packed in panels of 16 output features, each with its own scale."""

    takes = frozenset((f32,))

    @staticmethod
    def infer(x: Tensor, packed: Tensor, /, scales: Tensor, bias: Tensor | None, out_features: int) -> Tensor:
        require_same_element(x, scales, bias)
        if element_of(packed) != i8:
            raise TypeError(f"packed_weight must be of int8, got {dtype_of(element_of(packed)).torch}")
        shape = shape_of(x)
        if not shape:
            raise ValueError("input must have a dimension")
        require_shape("packed_weight", packed, (panels(out_features), shape[-1], PANEL))
        require_shape("scales", scales, (out_features,))
        require_shape("bias", bias, (out_features,))
        return tensor(element_of(x), (*shape[:-1], out_features))

    @staticmethod
    def numpy(x: Array, packed: Array, /, scales: Array, bias: Array | None, out_features: int) -> Array:
        product = np.matmul(x, unpack_linear_weight(packed, out_features).T.astype(x.dtype)) * scales
        return product if bias is None else product + bias


@row("fused", "flambeau", "dequantize_packed(Tensor packed_weight, Tensor scales) -> Tensor")
class DequantizePackedOp(SchemaOp):
    """packed_weight * scales: the floats of an int8 weight in the order of `fused.conv2d`, whose columns have a scale each.

    Dense weights are [panels, depth, 16], those of depthwise convolutions [taps, columns]. Columns that fill up the last panel have scales.
    """

    takes = frozenset((i8,))

    @staticmethod
    def infer(packed: Tensor, scales: Tensor, /) -> Tensor:
        if element_of(scales) != f32:
            raise TypeError(f"scales must be of float32, got {dtype_of(element_of(scales)).torch}")
        shape = shape_of(packed)
        if len(shape) not in (2, 3) or shape[-1] % PANEL or (len(shape) == 3 and shape[-1] != PANEL):
            raise ValueError(f"packed_weight must have the shape [panels, depth, {PANEL}] or [taps, panels * {PANEL}], got {list(shape)}")
        require_shape("scales", scales, (shape[0] * PANEL if len(shape) == 3 else shape[1],))
        return tensor(f32, shape)

    @staticmethod
    def numpy(packed: Array, scales: Array, /) -> Array:
        return packed.astype(np.float32) * scales.reshape((-1, 1, PANEL) if packed.ndim == 3 else (1, -1))
