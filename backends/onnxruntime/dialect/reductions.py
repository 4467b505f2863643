"""Operators that reduce several numbers to one, and those that divide by such numbers."""

from __future__ import annotations

from xdsl.dialects.builtin import i64

from flambeau.backends.onnxruntime.dialect.operators import NUMBERS, OPSET, Numbers, OnnxOp, UnaryOnnxOp, onnx, require_one_type
from flambeau.dialects.aten.layers.norm import moments
from flambeau.dialects.aten.reductions.softmax import LogSoftmaxOp as AtenLogSoftmaxOp
from flambeau.dialects.aten.reductions.softmax import SoftmaxOp as AtenSoftmaxOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import reduced_shape
from flambeau.support.lazy import Array, np

_REDUCTION = "(Tensor data, int[]? axes=None, *, bool keepdims=True, bool noop_with_empty_axes=False) -> Tensor"


def _dims(rank: int, axes: Numbers | None, noop_with_empty_axes: bool) -> Numbers:
    """Returns the dimensions that a reduction is over."""
    if not axes:
        return () if noop_with_empty_axes else tuple(range(rank))
    dims = tuple(normalize_dim(axis, rank) for axis in axes)
    if len(set(dims)) < len(dims):
        raise ValueError(f"axes {list(axes)} name a dimension twice")
    return dims


class ReductionOnnxOp(OnnxOp):
    """A reduction over dimensions, all if none is named."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, axes: Numbers | None, /, keepdims: bool, noop_with_empty_axes: bool) -> Tensor:
        shape = shape_of(x)
        dims = _dims(len(shape), axes, noop_with_empty_axes)
        return tensor(element_of(x), [1 if dim in dims else size for dim, size in enumerate(shape) if keepdims or dim not in dims])


@onnx(f"ReduceMean{_REDUCTION}")
class ReduceMeanOp(ReductionOnnxOp):
    """The mean over dimensions."""

    takes = OnnxOp.takes

    @staticmethod
    def numpy(x: Array, axes: Numbers | None, /, keepdims: bool, noop_with_empty_axes: bool) -> Array:
        return x.mean(_dims(x.ndim, axes, noop_with_empty_axes), keepdims=keepdims, dtype=np.float32).astype(x.dtype)


@onnx(f"ReduceSum{_REDUCTION}")
class ReduceSumOp(ReductionOnnxOp):
    """The sum over dimensions."""

    @staticmethod
    def numpy(x: Array, axes: Numbers | None, /, keepdims: bool, noop_with_empty_axes: bool) -> Array:
        wide = np.float32 if x.dtype.kind == "f" else x.dtype
        return x.sum(_dims(x.ndim, axes, noop_with_empty_axes), keepdims=keepdims, dtype=wide).astype(x.dtype)


@onnx(f"ReduceProd{_REDUCTION}")
class ReduceProdOp(ReductionOnnxOp):
    """The product over dimensions."""

    @staticmethod
    def numpy(x: Array, axes: Numbers | None, /, keepdims: bool, noop_with_empty_axes: bool) -> Array:
        wide = np.float32 if x.dtype.kind == "f" else x.dtype
        return x.prod(_dims(x.ndim, axes, noop_with_empty_axes), keepdims=keepdims, dtype=wide).astype(x.dtype)


@onnx(f"ReduceMax{_REDUCTION}")
class ReduceMaxOp(ReductionOnnxOp):
    """The largest element over dimensions."""

    @staticmethod
    def numpy(x: Array, axes: Numbers | None, /, keepdims: bool, noop_with_empty_axes: bool) -> Array:
        return x.max(_dims(x.ndim, axes, noop_with_empty_axes), keepdims=keepdims)


@onnx(f"ReduceMin{_REDUCTION}")
class ReduceMinOp(ReductionOnnxOp):
    """The smallest element over dimensions."""

    @staticmethod
    def numpy(x: Array, axes: Numbers | None, /, keepdims: bool, noop_with_empty_axes: bool) -> Array:
        return x.min(_dims(x.ndim, axes, noop_with_empty_axes), keepdims=keepdims)


class PlaceOnnxOp(OnnxOp):
    """The place of an extreme along a dimension."""

    @staticmethod
    def infer(x: Tensor, /, axis: int, keepdims: bool) -> Tensor:
        return tensor(i64, reduced_shape(shape_of(x), axis, keepdims))


@onnx("ArgMax(Tensor data, *, int axis=0, bool keepdims=True) -> Tensor")
class ArgMaxOp(PlaceOnnxOp):
    """The place of the largest element along a dimension, of the first where several are."""

    @staticmethod
    def numpy(x: Array, /, axis: int, keepdims: bool) -> Array:
        return np.argmax(x, axis, keepdims=keepdims)


@onnx("ArgMin(Tensor data, *, int axis=0, bool keepdims=True) -> Tensor")
class ArgMinOp(PlaceOnnxOp):
    """The place of the smallest element along a dimension, of the first where several are."""

    @staticmethod
    def numpy(x: Array, /, axis: int, keepdims: bool) -> Array:
        return np.argmin(x, axis, keepdims=keepdims)


@onnx("Softmax(Tensor input, *, int axis=-1) -> Tensor")
class SoftmaxOp(OnnxOp):
    """exp(x) divided by the sum of exp(x) along a dimension."""

    @staticmethod
    def infer(x: Tensor, /, axis: int) -> Tensor:
        normalize_dim(axis, len(shape_of(x)))
        return UnaryOnnxOp.infer(x)

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return AtenSoftmaxOp.numpy(x, axis, False)


@onnx("LogSoftmax(Tensor input, *, int axis=-1) -> Tensor")
class LogSoftmaxOp(SoftmaxOp):
    """The logarithm of the softmax along a dimension."""

    @staticmethod
    def numpy(x: Array, /, axis: int) -> Array:
        return AtenLogSoftmaxOp.numpy(x, axis, False)


@onnx("LayerNormalization(Tensor x, Tensor scale, Tensor? b=None, *, int axis=-1, float epsilon=1e-05, int stash_type=1) -> Tensor")
class LayerNormalizationOp(OnnxOp):
    """The input normalised over its dimensions from `axis` on, times scale plus b."""

    @staticmethod
    def infer(x: Tensor, scale: Tensor, b: Tensor | None, /, axis: int, stash_type: int) -> Tensor:
        require_one_type(x, scale, b)
        shape = shape_of(x)
        rest = shape[normalize_dim(axis, len(shape)) :]
        if any(given is not None and shape_of(given) != rest for given in (scale, b)):
            raise ValueError(f"scale and b must have the shape {list(rest)}")
        if stash_type != 1:
            raise ValueError(f"stash_type is {stash_type}, and 1, float32, is supported here")
        return UnaryOnnxOp.infer(x)

    @staticmethod
    def numpy(x: Array, scale: Array, b: Array | None, /, axis: int, epsilon: float) -> Array:
        wide = x.astype(np.float32)
        mean, deviation = moments(wide, tuple(range(axis % x.ndim, x.ndim)), epsilon)
        result = (wide - mean) * deviation * scale
        return (result if b is None else result + b).astype(x.dtype)


@onnx("GroupNormalization(Tensor x, Tensor scale, Tensor bias, *, float epsilon=1e-05, int num_groups, int stash_type=1) -> Tensor")
class GroupNormalizationOp(OnnxOp):
    """Images normalised over groups of channels, times scale plus bias of each channel."""

    since = OPSET

    @staticmethod
    def infer(x: Tensor, scale: Tensor, bias: Tensor, /, num_groups: int, stash_type: int) -> Tensor:
        require_one_type(x, scale, bias)
        shape = shape_of(x)
        if len(shape) < 3 or num_groups < 1 or shape[1] % num_groups or any(shape_of(p) != shape[1:2] for p in (scale, bias)):
            raise ValueError(f"{list(shape)} has no {num_groups} groups of channels, or scale and bias are not of its channels")
        if stash_type != 1:
            raise ValueError(f"stash_type is {stash_type}, and 1, float32, is supported here")
        return UnaryOnnxOp.infer(x)

    @staticmethod
    def numpy(x: Array, scale: Array, bias: Array, /, epsilon: float, num_groups: int) -> Array:
        wide = x.astype(np.float32).reshape(len(x), num_groups, -1)
        mean, deviation = moments(wide, (2,), epsilon)
        per_channel = (-1, *(1,) * (x.ndim - 2))
        return (((wide - mean) * deviation).reshape(x.shape) * scale.reshape(per_channel) + bias.reshape(per_channel)).astype(x.dtype)


@onnx(
    "BatchNormalization(Tensor x, Tensor scale, Tensor b, Tensor input_mean, Tensor input_var, *, float epsilon=1e-05, "
    "float momentum=0.9, bool training_mode=False) -> Tensor"
)
class BatchNormalizationOp(OnnxOp):
    """Images normalised by the means and the variances of channels, times scale plus b."""

    @staticmethod
    def infer(x: Tensor, scale: Tensor, b: Tensor, mean: Tensor, variance: Tensor, /, training_mode: bool) -> Tensor:
        require_one_type(x, scale, b, mean, variance)
        if training_mode or len(shape_of(x)) < 2 or any(shape_of(p) != shape_of(x)[1:2] for p in (scale, b, mean, variance)):
            raise ValueError(f"it trains, or its numbers are not those of the channels of {list(shape_of(x))}")
        return UnaryOnnxOp.infer(x)

    @staticmethod
    def numpy(x: Array, scale: Array, b: Array, mean: Array, variance: Array, /, epsilon: float) -> Array:
        shape = (-1, *(1,) * (x.ndim - 2))
        wide = [item.astype(np.float32).reshape(shape) for item in (scale, b, mean, variance)]
        result = (x - wide[2]) / np.sqrt(wide[3] + np.float32(epsilon)) * wide[0] + wide[1]
        return result.astype(x.dtype)
