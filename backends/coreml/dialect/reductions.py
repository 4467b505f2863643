"""Pools, reductions and norms."""

from __future__ import annotations

from xdsl.dialects.builtin import f16

from flambeau.backends.coreml.dialect.operators import MilOp, Numbers, coreml, like, require_like, widened
from flambeau.backends.coreml.dialect.products import check_window, padded
from flambeau.dialects.aten.layers.norm import moments, scale_and_shift
from flambeau.dialects.aten.library.windows import window_count
from flambeau.dialects.aten.reductions.softmax import SoftmaxOp
from flambeau.dialects.ir.tensor_types import Tensor, f32, i32, normalize_dim, shape_of
from flambeau.dialects.schema import families
from flambeau.support.lazy import Array, np

_POOL = "int[] kernel_sizes, int[] strides, str pad_type='custom', int[] pad, bool ceil_mode=False"


class PoolMilOp(MilOp):
    """A pool over the last dimensions of images."""

    @staticmethod
    def infer(x: Tensor, /, kernel_sizes: Numbers, strides: Numbers, pad_type: str, pad: Numbers, ceil_mode: bool) -> Tensor:
        shape = shape_of(x)
        if not 3 <= len(shape) <= 5 or ceil_mode:
            raise ValueError(f"{list(shape)} is no image, or its windows reach beyond it (ceil_mode)")
        check_window(len(shape) - 2, pad_type, pad, kernel_sizes, strides)
        if any(low >= size or high >= size for low, high, size in zip(pad[::2], pad[1::2], kernel_sizes, strict=True)):
            raise ValueError(f"pads {list(pad)} are as large as the window {list(kernel_sizes)}: some windows hold nothing")
        numbers = zip(shape[2:], pad[::2], pad[1::2], kernel_sizes, strides, strict=True)
        return like(x, (*shape[:2], *(window_count(extent + low + high, size, step, 0, 1) for extent, low, high, size, step in numbers)))


def _windows(x: Array, kernel_sizes: Numbers, strides: Numbers, pad: Numbers, outside: float) -> Array:
    """Returns the windows of images padded with `outside`, whose elements are the last dimensions."""
    rank = len(kernel_sizes)
    views = np.lib.stride_tricks.sliding_window_view(padded(x, pad, outside), kernel_sizes, tuple(range(2, 2 + rank)))
    return views[(slice(None), slice(None), *(slice(None, None, step) for step in strides))]


def _last(kernel_sizes: Numbers) -> Numbers:
    return tuple(range(-len(kernel_sizes), 0))


@coreml(f"max_pool(Tensor x, *, {_POOL}) -> Tensor")
class MaxPoolMilOp(PoolMilOp):
    """The largest element of each window."""

    @staticmethod
    @widened
    def numpy(x: Array, /, kernel_sizes: Numbers, strides: Numbers, pad: Numbers) -> Array:
        return _windows(x, kernel_sizes, strides, pad, -np.inf).max(_last(kernel_sizes))


@coreml(f"avg_pool(Tensor x, *, {_POOL}, bool exclude_padding_from_average=False) -> Tensor")
class AvgPoolMilOp(PoolMilOp):
    """The mean of each window, without the padding if it is excluded."""

    @staticmethod
    @widened
    def numpy(x: Array, /, kernel_sizes: Numbers, strides: Numbers, pad: Numbers, exclude_padding_from_average: bool) -> Array:
        inside = _windows(np.ones_like(x), kernel_sizes, strides, pad, 0 if exclude_padding_from_average else 1)
        axes = _last(kernel_sizes)
        return _windows(x, kernel_sizes, strides, pad, 0).sum(axes) / inside.sum(axes)


class ReductionMilOp(MilOp):
    """A reduction over dimensions."""

    @staticmethod
    def infer(x: Tensor, /, axes: Numbers, keep_dims: bool) -> Tensor:
        shape = shape_of(x)
        dims = families.reduced_dims(axes, len(shape))
        if not axes:
            raise ValueError("it names no axes")
        return like(x, [1 if dim in dims else size for dim, size in enumerate(shape) if keep_dims or dim not in dims])


def _reduction(name: str) -> str:
    return f"reduce_{name}(Tensor x, *, int[] axes, bool keep_dims=False) -> Tensor"


@coreml(_reduction("max"))
class ReduceMaxMilOp(ReductionMilOp):
    """The largest element."""

    takes = frozenset((f16, f32, i32))

    @staticmethod
    def numpy(x: Array, /, axes: Numbers, keep_dims: bool) -> Array:
        return x.max(axes, keepdims=keep_dims)


@coreml(_reduction("min"))
class ReduceMinMilOp(ReductionMilOp):
    """The smallest element."""

    @staticmethod
    def numpy(x: Array, /, axes: Numbers, keep_dims: bool) -> Array:
        return x.min(axes, keepdims=keep_dims)


@coreml(_reduction("sum"))
class ReduceSumMilOp(ReductionMilOp):
    """The sum."""

    @staticmethod
    @widened
    def numpy(x: Array, /, axes: Numbers, keep_dims: bool) -> Array:
        return x.sum(axes, keepdims=keep_dims)


@coreml(_reduction("mean"))
class ReduceMeanMilOp(ReductionMilOp):
    """The mean."""

    @staticmethod
    @widened
    def numpy(x: Array, /, axes: Numbers, keep_dims: bool) -> Array:
        return x.mean(axes, keepdims=keep_dims)


@coreml(_reduction("log_sum_exp"))
class ReduceLogSumExpMilOp(ReductionMilOp):
    """The logarithm of the sum of exp(x)."""

    @staticmethod
    @widened
    def numpy(x: Array, /, axes: Numbers, keep_dims: bool) -> Array:
        most = x.max(axes, keepdims=True)
        result = np.log(np.exp(x - most).sum(axes, keepdims=True)) + most
        return result if keep_dims else result.squeeze(axes)


@coreml("softmax(Tensor x, *, int axis=-1) -> Tensor")
class SoftmaxMilOp(MilOp):
    """The exponentials divided by their sum along a dimension."""

    @staticmethod
    def infer(x: Tensor, /, axis: int) -> Tensor:
        normalize_dim(axis, len(shape_of(x)))
        return like(x, shape_of(x))

    @staticmethod
    @widened
    def numpy(x: Array, /, axis: int) -> Array:
        return SoftmaxOp.numpy(x, axis, False)


@coreml("layer_norm(Tensor x, Tensor? gamma=None, Tensor? beta=None, *, int[] axes, float epsilon) -> Tensor")
class LayerNormMilOp(MilOp):
    """x without its mean, divided by its deviation, over the last dimensions, then times gamma, plus beta."""

    @staticmethod
    def infer(x: Tensor, gamma: Tensor | None, beta: Tensor | None, /, axes: Numbers) -> Tensor:
        require_like(x, gamma, beta)
        shape = shape_of(x)
        dims = sorted(normalize_dim(axis, len(shape)) for axis in axes)
        if not dims or dims != list(range(len(shape) - len(dims), len(shape))):
            raise ValueError(f"axes {list(axes)} are not the last of {list(shape)}")
        for factor in (gamma, beta):
            if factor is not None and shape_of(factor) != shape[dims[0] :]:
                raise ValueError(f"gamma and beta {list(shape_of(factor))} are not of the dimensions {list(shape[dims[0] :])}")
        return like(x, shape)

    @staticmethod
    @widened
    def numpy(x: Array, gamma: Array | None, beta: Array | None, /, axes: Numbers, epsilon: float) -> Array:
        mean, deviation = moments(x, axes, epsilon)
        return scale_and_shift((x - mean) * deviation, gamma, beta)
