"""Normalisation."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import bf16, f16, f32, f64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, dtype_of, element_of, normalize_dim, shape_of, tensor, tensor_type
from flambeau.dialects.schema.families import require_shape
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Stats = tuple[Array, Array, Array]


def require_float(x: Tensor) -> ElementType:
    """Returns the element type. Raises TypeError unless it is a float."""
    element = element_of(x)
    if dtype_of(element).category != 2:
        raise TypeError(f"normalisation is not defined for {dtype_of(element).torch} tensors")
    return element


def statistics_element(x: Tensor, *parameters: Tensor | None) -> ElementType:
    """Returns the element type of means and deviations: float32 if the input is a half type and the parameters are float32."""
    return next((element_of(parameter) for parameter in parameters if parameter is not None), element_of(x))


def require_parameters(x: Tensor, *parameters: Tensor | None) -> None:
    """Raises TypeError unless the parameters have the type of the input, or all are float32 and the input of a half type."""
    element, others = element_of(x), {element_of(parameter) for parameter in parameters if parameter is not None}
    if others - {element} and not (others == {f32} and element in (f16, bf16)):
        listed = " and ".join(sorted(dtype_of(other).torch for other in others))
        raise TypeError(
            f"parameters of {dtype_of(element).torch} input must be of its type, or all float32 if it is a half type; got {listed}"
        )


def as_declared(results: Sequence[SSAValue], x: SSAValue, *parameters: SSAValue | None) -> tuple[SSAValue, ...]:
    """Returns a normalised tensor, a mean and a deviation in the element types that they have for an input and its parameters."""
    stats = statistics_element(tensor_type(x), *(None if parameter is None else tensor_type(parameter) for parameter in parameters))
    return to_element(results[0], element_of(x)), *(to_element(result, stats) for result in results[1:])


def normalized_rank(shape: Sequence[int], normalized_shape: Sequence[int]) -> int:
    """Returns the number of leading dimensions not normalised over. Raises ValueError when the last ones are not `normalized_shape`."""
    rank = len(shape) - len(normalized_shape)
    if not normalized_shape or rank < 0 or any(map(differ, shape[rank:], normalized_shape)):
        raise ValueError(f"shape {list(shape)} does not end in the normalised shape {list(normalized_shape)}")
    return rank


def moments(x: Array, axes: tuple[int, ...], eps: float) -> tuple[Array, Array]:
    """Returns the mean and the reciprocal standard deviation over `axes`, which stay as dimensions of size 1."""
    mean = np.mean(x, axis=axes, keepdims=True)
    variance = np.mean(np.square(x - mean), axis=axes, keepdims=True)
    return mean, 1 / np.sqrt(variance + x.dtype.type(eps))


def scale_and_shift(x: Array, weight: Array | None, bias: Array | None) -> Array:
    """Returns the elements times the weight plus the bias, where there are any."""
    if weight is not None:
        x = x * weight
    return x if bias is None else x + bias


@aten(
    "native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
    core=True,
)
class NativeLayerNormOp(SchemaOp):
    """The input normalised over its last dimensions, times weight plus bias; then the means and the reciprocal deviations."""

    def whole(self) -> bool:
        """Returns whether the parameters have the input's type. If they do not, the operator is decomposed."""
        return len({element_of(operand) for operand in self.operands}) == 1

    @staticmethod
    def infer(x: Tensor, /, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        require_parameters(x, weight, bias)
        shape = shape_of(x)
        rank = normalized_rank(shape, normalized_shape)
        require_shape("weight", weight, normalized_shape)
        require_shape("bias", bias, normalized_shape)
        stats = tensor(statistics_element(x, weight, bias), (*shape[:rank], *(1,) * len(normalized_shape)))
        return tensor(require_float(x), shape), stats, stats

    @staticmethod
    def numpy(x: Array, /, normalized_shape: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float) -> Stats:
        wide = widened(x)
        mean, deviation = moments(wide, tuple(range(x.ndim - len(normalized_shape), x.ndim)), eps)
        result = scale_and_shift((wide - mean) * deviation, weight, bias).astype(x.dtype)
        dtype = next((parameter.dtype for parameter in (weight, bias) if parameter is not None), x.dtype)
        return result, mean.astype(dtype), deviation.astype(dtype)

    @staticmethod
    def decompose(
        x: SSAValue, /, normalized_shape: tuple[int, ...], weight: SSAValue | None, bias: SSAValue | None, eps: float
    ) -> tuple[SSAValue, ...]:
        wide = [None if value is None else to_element(value, f32) for value in (x, weight, bias)]
        results = aten.native_layer_norm.results(wide[0], normalized_shape, *wide[1:], eps)
        return as_declared(results, x, weight, bias)


@aten(
    "layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, "
    "bool cudnn_enable=True) -> Tensor",
    keep=True,
)
class LayerNormOp(SchemaOp):
    """The input normalised over its last dimensions, times weight plus bias."""

    @staticmethod
    def infer(x: Tensor, /, normalized_shape: tuple[int, ...], weight: Tensor | None, bias: Tensor | None) -> Tensor:
        return NativeLayerNormOp.infer(x, normalized_shape, weight, bias)[0]

    @staticmethod
    def numpy(x: Array, /, normalized_shape: tuple[int, ...], weight: Array | None, bias: Array | None, eps: float) -> Array:
        return NativeLayerNormOp.numpy(x, normalized_shape, weight, bias, eps)[0]

    @staticmethod
    def decompose(
        x: SSAValue, /, normalized_shape: tuple[int, ...], weight: SSAValue | None, bias: SSAValue | None, eps: float
    ) -> SSAValue:
        return aten.native_layer_norm.results(x, normalized_shape, weight, bias, eps)[0]


def rms_eps(element: ElementType, eps: float | None) -> float:
    """Returns the number added to the mean square; absent, the type's in which it is computed."""
    return eps if eps is not None else 2.0**-52 if element == f64 else 2.0**-23


def root_mean_square(x: Array, normalized_shape: Sequence[int], eps: float) -> Array:
    """Returns the reciprocal root of the mean square over the last dimensions, plus eps."""
    axes = tuple(range(x.ndim - len(normalized_shape), x.ndim))
    return 1 / np.sqrt(np.mean(np.square(x), axis=axes, keepdims=True) + x.dtype.type(eps))


def element_of_dtype(x: Array) -> ElementType:
    """Returns float64 or float32: where rms_norm computes."""
    return f64 if x.dtype.name == "float64" else f32


@aten("rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor", keep=True)
class RmsNormOp(SchemaOp):
    """The input divided by the root of its mean square over the last dimensions, times weight."""

    @staticmethod
    def infer(x: Tensor, /, normalized_shape: tuple[int, ...], weight: Tensor | None) -> Tensor:
        normalized_rank(shape_of(x), normalized_shape)
        require_shape("weight", weight, normalized_shape)
        return tensor(require_float(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, normalized_shape: tuple[int, ...], weight: Array | None, eps: float | None) -> Array:
        wide = widened(x)
        scale = root_mean_square(wide, normalized_shape, rms_eps(element_of_dtype(x), eps))
        return scale_and_shift(wide * scale, weight, None).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, normalized_shape: tuple[int, ...], weight: SSAValue | None, eps: float | None) -> SSAValue:
        element = element_of(x)
        wide = f64 if element == f64 else f32
        value = to_element(x, wide)
        dims = tuple(range(-len(normalized_shape), 0))
        mean = aten.mean.dim(aten.mul.Tensor(value, value), dims, True)
        result = aten.mul.Tensor(value, aten.rsqrt(aten.add.Scalar(mean, rms_eps(element, eps))))
        return to_element(result if weight is None else aten.mul.Tensor(result, to_element(weight, wide)), element)


@aten("_fused_rms_norm(Tensor input, int[] normalized_shape, Tensor? weight, float? eps) -> (Tensor, Tensor)")
class FusedRmsNormOp(SchemaOp):
    """The result of `rms_norm`; then the reciprocal roots of the mean squares."""

    @staticmethod
    def infer(x: Tensor, /, normalized_shape: tuple[int, ...], weight: Tensor | None) -> tuple[Tensor, Tensor]:
        shape = shape_of(x)
        rank = normalized_rank(shape, normalized_shape)
        stats = tensor(f64 if element_of(x) == f64 else f32, (*shape[:rank], *(1,) * len(normalized_shape)))
        return RmsNormOp.infer(x, normalized_shape, weight), stats

    @staticmethod
    def numpy(x: Array, /, normalized_shape: tuple[int, ...], weight: Array | None, eps: float | None) -> tuple[Array, Array]:
        scale = root_mean_square(widened(x), normalized_shape, rms_eps(element_of_dtype(x), eps))
        return RmsNormOp.numpy(x, normalized_shape, weight, eps), scale

    @staticmethod
    def decompose(
        x: SSAValue, /, normalized_shape: tuple[int, ...], weight: SSAValue | None, eps: float | None
    ) -> tuple[SSAValue, SSAValue]:
        wide = to_element(x, f64 if element_of(x) == f64 else f32)
        mean = aten.mean.dim(aten.mul.Tensor(wide, wide), tuple(range(-len(normalized_shape), 0)), True)
        scale = aten.rsqrt(aten.add.Scalar(mean, rms_eps(element_of(x), eps)))
        return aten.rms_norm(x, normalized_shape, weight, eps), scale


@aten(
    "native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group, float eps) -> "
    "(Tensor, Tensor, Tensor)",
    core=True,
)
class NativeGroupNormOp(SchemaOp):
    """Each group of channels of a batch entry normalised, times weight plus bias per channel; then means and reciprocal deviations."""

    whole = NativeLayerNormOp.whole

    @staticmethod
    def infer(
        x: Tensor, /, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int
    ) -> tuple[Tensor, Tensor, Tensor]:
        require_parameters(x, weight, bias)
        shape = shape_of(x)
        if differ(math.prod(shape), N * C * HxW):
            raise ValueError(f"shape {list(shape)} does not have {N} x {C} x {HxW} elements")
        if group < 1 or C % group:
            raise ValueError(f"{C} channels do not divide into {group} groups")
        require_shape("weight", weight, (C,))
        require_shape("bias", bias, (C,))
        stats = tensor(statistics_element(x, weight, bias), (N, group))
        return tensor(require_float(x), shape), stats, stats

    @staticmethod
    def numpy(x: Array, /, weight: Array | None, bias: Array | None, N: int, C: int, HxW: int, group: int, eps: float) -> Stats:
        wide = widened(x).reshape(N, group, C // group * HxW)
        mean, deviation = moments(wide, (2,), eps)
        normalized = ((wide - mean) * deviation).reshape(N, C, HxW)
        factors = [None if p is None else widened(p).reshape(C, 1) for p in (weight, bias)]
        result = scale_and_shift(normalized, *factors).reshape(x.shape).astype(x.dtype)
        dtype = next((parameter.dtype for parameter in (weight, bias) if parameter is not None), x.dtype)
        return result, mean.reshape(N, group).astype(dtype), deviation.reshape(N, group).astype(dtype)

    @staticmethod
    def decompose(
        x: SSAValue, /, weight: SSAValue | None, bias: SSAValue | None, N: int, C: int, HxW: int, group: int, eps: float
    ) -> tuple[SSAValue, ...]:
        wide = [None if value is None else to_element(value, f32) for value in (x, weight, bias)]
        return as_declared(aten.native_group_norm.results(*wide, N, C, HxW, group, eps), x, weight, bias)


@aten(
    "group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1.0000000000000001e-05, "
    "bool cudnn_enabled=True) -> Tensor"
)
class GroupNormOp(SchemaOp):
    """Each group of channels of each batch entry normalised, times weight plus bias per channel."""

    @staticmethod
    def sizes(shape: Sequence[int]) -> tuple[int, int, int]:
        """Returns batch, channels and the number of places of a channel. Raises ValueError for fewer than two dimensions."""
        if len(shape) < 2:
            raise ValueError(f"input must have at least 2 dimensions, got shape {list(shape)}")
        return shape[0], shape[1], math.prod(shape[2:])

    @staticmethod
    def infer(x: Tensor, /, num_groups: int, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        return NativeGroupNormOp.infer(x, weight, bias, *GroupNormOp.sizes(shape_of(x)), num_groups)[0]

    @staticmethod
    def numpy(x: Array, /, num_groups: int, weight: Array | None, bias: Array | None, eps: float) -> Array:
        return NativeGroupNormOp.numpy(x, weight, bias, *GroupNormOp.sizes(x.shape), num_groups, eps)[0]

    @staticmethod
    def decompose(x: SSAValue, /, num_groups: int, weight: SSAValue | None, bias: SSAValue | None, eps: float) -> SSAValue:
        return aten.native_group_norm.results(x, weight, bias, *GroupNormOp.sizes(shape_of(x)), num_groups, eps)[0]


def channels_of(x: Tensor) -> int:
    """Returns the size of dimension 1. Raises ValueError."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"input must have at least 2 dimensions, got shape {list(shape)}")
    return shape[1]


def per_channel(x: Array, rank: int) -> Array:
    """Returns a vector over channels so that it broadcasts with a tensor of `rank` dimensions."""
    return widened(x).reshape(-1, *(1,) * (rank - 2))


@aten("_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor")
class WeightNormOp(SchemaOp):
    """v * g / norm(v), where the norm is taken over all dimensions except `dim`."""

    @staticmethod
    def others(rank: int, dim: int) -> tuple[int, ...]:
        """Returns the dimensions that the norm is taken over; all for dim -1."""
        return tuple(range(rank)) if dim == -1 else tuple(d for d in range(rank) if d != normalize_dim(dim, rank))

    @staticmethod
    def infer(v: Tensor, dim: int) -> Tensor:
        WeightNormOp.others(len(shape_of(v)), dim)
        return tensor(require_float(v), shape_of(v))

    @staticmethod
    def numpy(v: Array, g: Array, dim: int) -> Array:
        wide = widened(v)
        norm = np.sqrt(np.sum(np.square(wide), axis=WeightNormOp.others(v.ndim, dim), keepdims=True))
        return (wide * (widened(g) / norm)).astype(v.dtype)

    @staticmethod
    def decompose(v: SSAValue, g: SSAValue, dim: int) -> SSAValue:
        # A sum over no dimension would be one over all.
        others, squares = WeightNormOp.others(len(shape_of(v)), dim), aten.mul.Tensor(v, v)
        norm = aten.sqrt(aten.sum.dim_IntList(squares, others, True) if others else squares)
        return aten.mul.Tensor(v, aten.div.Tensor(g, norm))
