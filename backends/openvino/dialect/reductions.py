"""Layers that make one number of several."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import LayerOp, Numbers, openvino
from flambeau.dialects.ir.tensor_types import Tensor, f32, normalize_dim, shape_of, tensor
from flambeau.support.lazy import Array


class ReductionLayerOp(LayerOp):
    """A reduction over dimensions."""

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /, keep_dims: bool) -> Tensor:
        shape = shape_of(x)
        dims = {normalize_dim(axis, len(shape)) for axis in axes}
        kept = [1 if dim in dims else extent for dim, extent in enumerate(shape) if keep_dims or dim not in dims]
        return tensor(f32, kept)


@openvino("ReduceMean(Tensor data, int[] axes, *, bool keep_dims=False) -> Tensor")
class ReduceMeanOp(ReductionLayerOp):
    """The mean."""

    @staticmethod
    def numpy(x: Array, axes: Numbers, /, keep_dims: bool) -> Array:
        return x.mean(axes, keepdims=keep_dims)
