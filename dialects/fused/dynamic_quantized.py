"""Linear layers of integers whose input scales are computed at run time."""

from __future__ import annotations

from xdsl.dialects.builtin import i8, i32, i64

from flambeau.dialects.fused.packing import unpack_quads
from flambeau.dialects.fused.quantized import MOST_PRODUCTS, RANGES, quads_shape
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, f32, is_float, may_equal, shape_of, tensor
from flambeau.dialects.schema.families import require_shape
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array, np


@row(
    "fused",
    "flambeau",
    "dynamic_quantized_linear(Tensor input, Tensor input_scale, Tensor input_zero_point, Tensor packed_weight, Tensor weight_sums,"
    " Tensor scales, Tensor? bias, int out_features) -> Tensor",
)
class DynamicQuantizedLinearOp(SchemaOp):
    """((input - input_zero_point) @ weight.T) * input_scale * scales + bias; the sums are of int32, the result of float32.

    `input` is int8 or uint8, with one scale and zero point for the tensor or for each row. The weight is int8; `weight_sums` and `scales`
    have a value for each output feature: the sum of its weights, and its scale.
    """

    @staticmethod
    def infer(
        x: Tensor,
        /,
        input_scale: Tensor,
        input_zero_point: Tensor,
        packed_weight: Tensor,
        weight_sums: Tensor,
        scales: Tensor,
        bias: Tensor | None,
        out_features: int,
    ) -> Tensor:
        if element_of(x) not in RANGES or element_of(packed_weight) != i8 or element_of(weight_sums) != i32:
            given = ", ".join(dtype_of(element_of(item)).torch for item in (x, packed_weight, weight_sums))
            raise TypeError(f"the input must be of int8 or uint8, the weight of int8, its sums of int32; got {given}")
        if any(item is not None and element_of(item) != f32 for item in (scales, bias)):
            raise TypeError("scales and bias must be of float32")
        if not is_float(element_of(input_scale)) or element_of(input_zero_point) not in (i8, i32, i64):
            raise TypeError("input_scale must be of floats, input_zero_point of int8, int32 or int64")
        shape = shape_of(x)
        if not shape or shape[-1] > MOST_PRODUCTS:
            raise ValueError(f"input must have a dimension, and a sum at most {MOST_PRODUCTS} products, got shape {list(shape)}")
        for item in (input_scale, input_zero_point):
            sizes = shape_of(item)
            if not all(is_known(size) and size == 1 for size in sizes) and not may_equal(sizes, (*shape[:-1], 1)):
                raise ValueError(f"the input must have one scale and zero point, or {[*shape[:-1], 1]}, got {list(sizes)}")
        require_shape("packed_weight", packed_weight, quads_shape(out_features, shape[-1]))
        for name, item in (("weight_sums", weight_sums), ("scales", scales), ("bias", bias)):
            require_shape(name, item, (out_features,))
        return tensor(f32, (*shape[:-1], out_features))

    @staticmethod
    def numpy(
        x: Array,
        /,
        input_scale: Array,
        input_zero_point: Array,
        packed_weight: Array,
        weight_sums: Array,
        scales: Array,
        bias: Array | None,
        out_features: int,
    ) -> Array:
        input_scale, input_zero_point = (
            item.reshape(() if item.size == 1 else (*x.shape[:-1], 1)) for item in (input_scale, input_zero_point)
        )
        # Sums of at most 2 ** 31 are exact in float64, whose products are fast.
        sums = x.astype(np.float64) @ unpack_quads(packed_weight, out_features, x.shape[-1]).astype(np.float64).T
        zeros = input_zero_point.astype(np.int64) * weight_sums.astype(np.int64)
        whole = (sums.astype(np.int64) - zeros).astype(np.int32)
        product = whole.astype(np.float32) * input_scale.astype(np.float32) * scales
        return product if bias is None else product + bias
