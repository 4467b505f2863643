"""Reductions over dimensions, and functions along one."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from typing import Any, ClassVar

from xdsl.dialects.builtin import f32, i8, i16, i64

from flambeau.backends.litert.dialect.operators import (
    ELEMENTS,
    LiteRtOp,
    Numbers,
    Scales,
    check_scales,
    fitted,
    litert,
    multiplier_of,
    scaled,
    single,
)
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.support.lazy import Array, np

_TYPES = "float[] scales=[], int[] zero_points=[]"


def _reduced_type(x: Tensor, axes: Numbers, keep_dims: bool) -> Tensor:
    """Returns the type of a reduction. Raises ValueError for dimensions that are not, or are named twice."""
    shape = shape_of(x)
    if len({*axes}) != len(axes) or any(not 0 <= axis < len(shape) for axis in axes):
        raise ValueError(f"the dimensions {list(axes)} are not all of the {len(shape)} of the operand, or come twice")
    kept = [1 if axis in axes else size for axis, size in enumerate(shape) if keep_dims or axis not in axes]
    return tensor(element_of(x), kept)


@litert(f"mean(Tensor input, int[] axis, *, bool keep_dims=False, {_TYPES}) -> Tensor")
class MeanOp(LiteRtOp):
    """The mean; of integers, the sum times a multiplier that is divided by the number of elements, and cut off."""

    versions: ClassVar = {i8: 2, i16: 3}

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /, keep_dims: bool, scales: Scales, zero_points: Numbers) -> Tensor:
        check_scales(x, scales, zero_points, 2)
        return _reduced_type(x, axes, keep_dims)

    @staticmethod
    def numpy(x: Array, axes: Numbers, /, keep_dims: bool, scales: Scales, zero_points: Numbers) -> Array:
        if not scales:
            return x.mean(tuple(axes), keepdims=keep_dims, dtype=x.dtype)
        count, (step, to) = prod(x.shape[axis] for axis in axes), map(single, scales)
        sums = (x.astype(np.int64) - zero_points[0]).sum(tuple(axes), keepdims=keep_dims)
        multiplier, exponent = multiplier_of(step / to)
        shift = min(count.bit_length() - 1, 32, 31 + exponent)
        return fitted(scaled(sums, (multiplier << shift) // count, exponent - shift), zero_points[1], to, x.dtype)


class _ChoosingOp(LiteRtOp):
    """A reduction whose result has the scale of its operand."""

    keeps_type = True
    versions: ClassVar = {i8: 2, i16: 3}
    function: ClassVar[Callable[..., Any]]

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /, keep_dims: bool) -> Tensor:
        return _reduced_type(x, axes, keep_dims)

    @classmethod
    def numpy(cls, x: Array, axes: Numbers, /, keep_dims: bool) -> Array:
        return cls.function(x, tuple(axes), keepdims=keep_dims)


def _reduction(name: str, doc: str, function: Callable[..., Any], takes: frozenset[Any]) -> type[LiteRtOp]:
    body = {"__doc__": doc, "function": staticmethod(function), "takes": takes, "__module__": __name__}
    return litert(f"{name}(Tensor input, int[] axes, *, bool keep_dims=False) -> Tensor")(
        type(f"{name.title().replace('_', '')}Op", (_ChoosingOp,), body)
    )


_FLOATS = frozenset((f32,))
ReduceMaxOp = _reduction("reduce_max", "The largest element.", np.max, ELEMENTS)
ReduceMinOp = _reduction("reduce_min", "The smallest element.", np.min, ELEMENTS)
ReduceProdOp = _reduction("reduce_prod", "The product.", np.prod, _FLOATS)
SumOp = _reduction("sum", "The sum. LiteRT's reference kernel takes the bytes of int8 for uint8.", np.sum, _FLOATS)


class _PlaceOp(LiteRtOp):
    """The place of an element along a dimension, the first one of equal elements, as int64."""

    takes = frozenset((f32,))
    function: ClassVar[Callable[..., Any]]

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /, output_type: str) -> Tensor:
        if len(axes) != 1 or output_type != "INT64":
            raise ValueError(f"the dimensions {list(axes)} are not one, or the places are of {output_type}, not INT64")
        return tensor(i64, shape_of(_reduced_type(x, axes, False)))

    @classmethod
    def numpy(cls, x: Array, axes: Numbers, /, output_type: str) -> Array:
        return cls.function(x, axes[0])


@litert('arg_max(Tensor input, int[] dim, *, str output_type="INT64") -> Tensor')
class ArgMaxOp(_PlaceOp):
    """The place of the largest element along a dimension, of equal ones the first."""

    function = staticmethod(np.argmax)


@litert('arg_min(Tensor input, int[] dim, *, str output_type="INT64") -> Tensor')
class ArgMinOp(_PlaceOp):
    """The place of the smallest element along a dimension, of equal ones the first."""

    function = staticmethod(np.argmin)


@litert("cumsum(Tensor input, int[] axis, *, bool exclusive=False, bool reverse=False) -> Tensor")
class CumsumOp(LiteRtOp):
    """The sums of the elements up to each, along a dimension."""

    takes = frozenset((f32,))

    @staticmethod
    def infer(x: Tensor, axes: Numbers, /, exclusive: bool, reverse: bool) -> Tensor:
        if exclusive or reverse or len(axes) != 1:
            raise ValueError(f"sums along the dimensions {list(axes)}, exclusive {exclusive}, reverse {reverse}, are not read")
        _reduced_type(x, axes, True)
        return x

    @staticmethod
    def numpy(x: Array, axes: Numbers, /) -> Array:
        return np.add.accumulate(x, axes[0])


@litert("log_softmax(Tensor logits) -> Tensor")
class LogSoftmaxOp(LiteRtOp):
    """The logarithm of the softmax of rows."""

    takes = frozenset((f32,))

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return x

    @staticmethod
    def numpy(x: Array, /) -> Array:
        less = x - x.max(-1, keepdims=True)
        return less - np.log(np.exp(less).sum(-1, keepdims=True))
