"""Average pools of quantised images, in integers."""

from __future__ import annotations

from flambeau.dialects.fused.conv2d import Pair, convolved_size
from flambeau.dialects.fused.quantized import MOST_PRODUCTS, RANGES, SHIFTS, check_numbers, requantize
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array, np


@row(
    "fused",
    "flambeau",
    "quantized_avg_pool2d(Tensor input, int[2] kernel_size, int[2] stride, int[2] padding, int multiplier, int shift,"
    " int input_zero_point, int zero_point, int low, int high) -> Tensor",
)
class QuantizedAvgPool2dOp(SchemaOp):
    """The sums of windows of images, requantized as in `fused.quantized_linear`; padding adds nothing to a sum."""

    @staticmethod
    def infer(
        x: Tensor,
        /,
        kernel_size: Pair,
        stride: Pair,
        padding: Pair,
        multiplier: int,
        shift: int,
        input_zero_point: int,
        zero_point: int,
        low: int,
        high: int,
    ) -> Tensor:
        shape, element = shape_of(x), element_of(x)
        if element not in RANGES:
            raise TypeError(f"the input must be of int8 or uint8, got {dtype_of(element).torch}")
        if len(shape) != 4:
            raise ValueError(f"input must have 4 dimensions, got {len(shape)}")
        spatial = convolved_size(shape, kernel_size, stride, padding, (1, 1), 1, 1)
        check_numbers(x, low, high, input_zero_point, zero_point)
        if not SHIFTS[0] <= shift <= SHIFTS[1] or not 0 <= multiplier < 2**31:
            limits = f"shift must be from {SHIFTS[0]} to {SHIFTS[1]} and multiplier an int32 not below 0"
            raise ValueError(f"{limits}, got {shift} and {multiplier}")
        if kernel_size[0] * kernel_size[1] > MOST_PRODUCTS:
            raise ValueError(f"a window can have {MOST_PRODUCTS} numbers, got {kernel_size[0] * kernel_size[1]}")
        return tensor(element, (*shape[:2], *spatial))

    @staticmethod
    def numpy(
        x: Array,
        /,
        kernel_size: Pair,
        stride: Pair,
        padding: Pair,
        multiplier: int,
        shift: int,
        input_zero_point: int,
        zero_point: int,
        low: int,
        high: int,
    ) -> Array:
        around = ((0, 0), (0, 0), *((pad, pad) for pad in padding))
        padded = np.pad(x.astype(np.int64) - input_zero_point, around)
        windows = np.lib.stride_tricks.sliding_window_view(padded, kernel_size, (2, 3))[:, :, :: stride[0], :: stride[1]]
        parameters = np.array([[0], [multiplier], [shift]])
        return requantize(windows.sum((-1, -2)), parameters, zero_point, low, high, 1).astype(x.dtype)
