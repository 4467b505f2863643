"""Max pools of images without the places of the largest elements."""

from __future__ import annotations

from typing import Any

from flambeau.dialects.aten.images.pool import MaxPool2dWithIndicesOp
from flambeau.dialects.ir.tensor_types import Tensor
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array


@row(
    "fused",
    "flambeau",
    "max_pool2d(Tensor input, int[2] kernel_size, int[2] stride=[], int[2] padding=0, int[2] dilation=1, bool ceil_mode=False) -> Tensor",
)
class FusedMaxPool2dOp(SchemaOp):
    """The largest element of each window over two dimensions."""

    takes = MaxPool2dWithIndicesOp.takes
    dim_order = "kept"

    @staticmethod
    def infer(x: Tensor, /, *args: Any) -> Tensor:
        return MaxPool2dWithIndicesOp.infer(x, *args)[0]

    @staticmethod
    def numpy(x: Array, /, *args: Any) -> Array:
        return MaxPool2dWithIndicesOp.numpy(x, *args)[0]
