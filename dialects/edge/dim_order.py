"""Operators that move a tensor to another dim order (ExecuTorch's `dim_order_ops`)."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from flambeau.dialects.edge.layout import with_dim_order
from flambeau.dialects.ir.tensor_types import Tensor, element_of, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array


@row(
    "edge",
    "dim_order_ops",
    "_to_dim_order_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None,"
    " bool non_blocking=False, int[]? dim_order=None) -> Tensor",
)
class ToDimOrderCopyOp(SchemaOp):
    """A copy of a tensor in another dim order (the order of dimensions in memory), perhaps in another element type."""

    moves = True

    @staticmethod
    def infer(x: Tensor, /, dtype: Attribute | None, dim_order: Sequence[int] | None) -> Tensor:
        kind = tensor(dtype or element_of(x), shape_of(x), x.encoding)
        if dim_order is not None and len(dim_order) != len(x.get_shape()):
            raise ValueError(f"dim order {list(dim_order)} is not one of {len(x.get_shape())} dimensions")
        return kind if dim_order is None else with_dim_order(kind, dim_order)

    @staticmethod
    def numpy(x: Array, /, dtype: Attribute | None) -> Array:
        return x if dtype is None else x.astype(numpy_dtype(dtype), copy=False)
