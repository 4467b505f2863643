"""Products of matrices, none of which is a constant."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects.builtin import i8, i16

from flambeau.backends.litert.dialect.operators import LiteRtOp, Numbers, Scales, check_scales, fitted, litert, rescaled_sums, single
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np


@litert("batch_matmul(Tensor x, Tensor y, *, bool adj_x=False, bool adj_y=False, float[] scales=[], int[] zero_points=[]) -> Tensor")
class BatchMatmulOp(LiteRtOp):
    """The products of matrices, whose dimensions before the last two are those of a batch; either may be transposed."""

    versions: ClassVar = {i8: 2, i16: 3}

    @staticmethod
    def infer(a: Tensor, b: Tensor, /, adj_x: bool, adj_y: bool, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(a, scales, zero_points, 3)
        if element_of(a) != element_of(b) or min(len(shape_of(a)), len(shape_of(b))) < 2:
            raise ValueError(f"operands {a} and {b} are not of one type, or no matrices")
        first, second = _in_order(shape_of(a), adj_x), _in_order(shape_of(b), adj_y)
        if first[-1] != second[-2]:
            raise ValueError(f"matrices of {list(first[-2:])} and {list(second[-2:])} have no product")
        return tensor(element_of(a), (*broadcast(first[:-2], second[:-2]), first[-2], second[-1]))

    @staticmethod
    def numpy(a: Array, b: Array, /, adj_x: bool, adj_y: bool, scales: Scales, zero_points: Numbers) -> Array:
        a, b = (item.swapaxes(-1, -2) if is_turned else item for item, is_turned in ((a, adj_x), (b, adj_y)))
        if not scales:
            return a @ b
        sums = (a.astype(np.float64) - zero_points[0]) @ (b.astype(np.float64) - zero_points[1])  # float64 holds them exactly
        ratio = single(np.float32(scales[0]) * np.float32(scales[1])) / single(scales[2])  # the kernel multiplies both in float32
        return fitted(rescaled_sums(sums, [ratio], a.dtype), zero_points[2], scales[2], a.dtype)


def _in_order(shape: tuple[int, ...], is_turned: bool) -> tuple[int, ...]:
    return (*shape[:-2], shape[-1], shape[-2]) if is_turned else shape
