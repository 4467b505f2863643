"""Layers that reduce several numbers to one."""

from __future__ import annotations

from flambeau.backends.openvino.dialect.layers import LayerOp, Numbers, openvino
from flambeau.dialects.aten.layers.norm import moments
from flambeau.dialects.ir.tensor_types import Tensor, f32, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import require_only
from flambeau.support.lazy import Array


def _dims(shape: Numbers, axes: Numbers) -> tuple[int, ...]:
    """Returns the dimensions that axes name. Raises ValueError for a dimension that is named twice."""
    dims = tuple(normalize_dim(axis, len(shape)) for axis in axes)
    if len(set(dims)) < len(dims):
        raise ValueError(f"axes {list(axes)} name a dimension twice")
    return dims


class ReductionLayerOp(LayerOp):
    """A reduction over dimensions."""

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /, keep_dims: bool) -> Tensor:
        shape = shape_of(x)
        dims = _dims(shape, axes)
        return tensor(f32, [1 if dim in dims else extent for dim, extent in enumerate(shape) if keep_dims or dim not in dims])


@openvino("ReduceMean(Tensor data, int[] axes, *, bool keep_dims=False) -> Tensor")
class ReduceMeanLayerOp(ReductionLayerOp):
    """The mean over dimensions."""

    @staticmethod
    def numpy(x: Array, axes: Numbers, /, keep_dims: bool) -> Array:
        return x.mean(axes, keepdims=keep_dims)


@openvino("ReduceSum(Tensor data, int[] axes, *, bool keep_dims=False) -> Tensor")
class ReduceSumLayerOp(ReductionLayerOp):
    """The sum over dimensions."""

    @staticmethod
    def numpy(x: Array, axes: Numbers, /, keep_dims: bool) -> Array:
        return x.sum(axes, keepdims=keep_dims)


@openvino("ReduceMax(Tensor data, int[] axes, *, bool keep_dims=False) -> Tensor")
class ReduceMaxLayerOp(ReductionLayerOp):
    """The largest element over dimensions."""

    @staticmethod
    def numpy(x: Array, axes: Numbers, /, keep_dims: bool) -> Array:
        return x.max(axes, keepdims=keep_dims)


@openvino("ReduceMin(Tensor data, int[] axes, *, bool keep_dims=False) -> Tensor")
class ReduceMinLayerOp(ReductionLayerOp):
    """The smallest element over dimensions."""

    @staticmethod
    def numpy(x: Array, axes: Numbers, /, keep_dims: bool) -> Array:
        return x.min(axes, keepdims=keep_dims)


@openvino("MVN(Tensor data, int[] axes, *, float eps, bool normalize_variance=True, str eps_mode='inside_sqrt') -> Tensor")
class MVNLayerOp(LayerOp):
    """The input minus its mean, divided by its standard deviation."""

    opset = 6

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /, normalize_variance: bool, eps_mode: str) -> Tensor:
        require_only("normalize_variance", normalize_variance, True)
        require_only("eps_mode", eps_mode, "inside_sqrt")
        _dims(shape_of(x), axes)
        return tensor(f32, shape_of(x))

    @staticmethod
    def numpy(x: Array, axes: Numbers, /, eps: float) -> Array:
        mean, deviation = moments(x, axes, eps)
        return (x - mean) * deviation
