"""Gradients of normalizations."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.layers.norm import NativeGroupNormOp, require_parameters
from flambeau.dialects.aten.library.gradients import Mask, Numbers, masked, require_gradient, wanted
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, require_same_element, require_shape, wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array


def normalized_gradient(grad: Array, normalized: Array, deviation: Array, axes: tuple[int, ...]) -> Array:
    """Returns the gradient through x -> (x - mean) * deviation over `axes`."""
    mean = grad.mean(axis=axes, keepdims=True)
    along = (grad * normalized).mean(axis=axes, keepdims=True)
    return (grad - mean - normalized * along) * deviation


def normalization_gradients(
    grad: SSAValue,
    normalized: SSAValue,
    deviation: SSAValue,
    weight: SSAValue | None,
    axes: Sequence[int],
    over: Sequence[int],
    output_mask: Mask,
    shapes: tuple[Sequence[int], Sequence[int]],
    element: ElementType,
) -> tuple[SSAValue, ...]:
    """Returns the gradients of a norm over `axes`, and of its weight and bias, which are sums over `over`; built detached.

    Args:
        grad: that of the result.
        normalized: the input without its mean, divided by its deviation.
        deviation: the reciprocal of the input's deviation.
        weight: one that broadcasts to the input.
        axes: the dimensions that are normalized.
        over: the dimensions that the weight does not have.
        output_mask: the gradients that are wanted; the others are empty.
        shapes: those of the input's gradient and of the others.
        element: the type of the gradients.
    """
    nothing = aten.full((0,), 0, element)
    scaled = grad if weight is None else aten.mul.Tensor(grad, weight)
    mean = aten.mean.dim(scaled, axes, True)
    along = aten.mean.dim(aten.mul.Tensor(scaled, normalized), axes, True)
    of_input = aten.mul.Tensor(aten.sub.Tensor(aten.sub.Tensor(scaled, mean), aten.mul.Tensor(normalized, along)), deviation)
    of_others = [aten.sum.dim_IntList(part, over) if over else part for part in (aten.mul.Tensor(grad, normalized), grad)]
    found = [aten.view(of_input, shapes[0]), *(aten.view(part, shapes[1]) for part in of_others)]
    return tuple(to_element(part, element) if present else nothing for part, present in zip(found, output_mask, strict=True))


@aten(
    "native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean, Tensor rstd, Tensor? weight, "
    "Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    core=True,
)
class NativeLayerNormBackwardOp(SchemaOp):
    """The gradients of a layer norm's input, weight and bias."""

    takes = FLOATS

    @staticmethod
    def infer(grad: Tensor, x: Tensor, /, weight: Tensor | None, bias: Tensor | None, output_mask: Mask) -> tuple[Tensor, ...]:
        require_gradient(grad, shape_of(x))
        element = element_of(x)
        return tuple(wanted(kind, element, present) for kind, present in zip((x, weight, bias), output_mask, strict=True))

    @staticmethod
    def numpy(
        grad: Array,
        x: Array,
        /,
        normalized_shape: Numbers,
        mean: Array,
        rstd: Array,
        weight: Array | None,
        bias: Array | None,
        output_mask: Mask,
    ) -> tuple[Array, ...]:
        rank = x.ndim - len(normalized_shape)
        wide, deviation = widened(grad), widened(rstd)
        normalized = (widened(x) - widened(mean)) * deviation
        scaled = wide if weight is None else wide * widened(weight)
        batch = tuple(range(rank))
        of_weight = None if weight is None else (wide * normalized).sum(axis=batch)
        of_bias = None if bias is None else wide.sum(axis=batch)
        of_input = normalized_gradient(scaled, normalized, deviation, tuple(range(rank, x.ndim)))
        return masked((of_input, of_weight, of_bias), output_mask, x)

    @staticmethod
    def decompose(
        grad: SSAValue,
        x: SSAValue,
        /,
        normalized_shape: Numbers,
        mean: SSAValue,
        rstd: SSAValue,
        weight: SSAValue | None,
        bias: SSAValue | None,
        output_mask: Mask,
    ) -> tuple[SSAValue, ...]:
        wide, shape = wide_element(element_of(x)), shape_of(x)
        rank = len(shape) - len(normalized_shape)
        deviation = to_element(rstd, wide)
        normalized = aten.mul.Tensor(aten.sub.Tensor(to_element(x, wide), to_element(mean, wide)), deviation)
        return normalization_gradients(
            to_element(grad, wide),
            normalized,
            deviation,
            None if weight is None else to_element(weight, wide),
            tuple(range(rank, len(shape))),
            tuple(range(rank)),
            (output_mask[0], output_mask[1] and weight is not None, output_mask[2] and bias is not None),
            (shape, shape[rank:]),
            element_of(x),
        )


@aten(
    "native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight, SymInt N, SymInt C, "
    "SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    core=True,
)
class NativeGroupNormBackwardOp(SchemaOp):
    """The gradients of a group norm's input, weight and bias."""

    takes = FLOATS

    @staticmethod
    def infer(
        grad: Tensor,
        x: Tensor,
        mean: Tensor,
        rstd: Tensor,
        weight: Tensor | None,
        batch: int,
        channels: int,
        size: int,
        /,
        group: int,
        output_mask: Mask,
    ) -> tuple[Tensor, ...]:
        require_gradient(grad, shape_of(x))
        require_same_element(grad, x)
        require_parameters(x, mean, rstd, weight)
        result, _, stats = NativeGroupNormOp.infer(x, weight, None, batch, channels, size, group)
        element = element_of(result)
        for name, statistics in (("mean", mean), ("rstd", rstd)):
            require_shape(name, statistics, shape_of(stats))
        vector = tensor(element, (channels,))
        return tuple(wanted(kind, element, present) for kind, present in zip((x, vector, vector), output_mask, strict=True))

    @staticmethod
    def numpy(
        grad: Array,
        x: Array,
        mean: Array,
        rstd: Array,
        weight: Array | None,
        batch: int,
        channels: int,
        size: int,
        /,
        group: int,
        output_mask: Mask,
    ) -> tuple[Array, ...]:
        apart = (batch, group, channels // group, size)
        deviation, center = (widened(part).reshape(batch, group, 1, 1) for part in (rstd, mean))
        wide, normalized = widened(grad).reshape(apart), (widened(x).reshape(apart) - center) * deviation
        scaled = wide if weight is None else wide * widened(weight).reshape(1, group, -1, 1)
        of_input = normalized_gradient(scaled, normalized, deviation, (2, 3)).reshape(x.shape)
        of_weight = (wide * normalized).sum(axis=(0, 3)).reshape(-1)
        return masked((of_input, of_weight, wide.sum(axis=(0, 3)).reshape(-1)), output_mask, x)

    @staticmethod
    def decompose(
        grad: SSAValue,
        x: SSAValue,
        mean: SSAValue,
        rstd: SSAValue,
        weight: SSAValue | None,
        batch: int,
        channels: int,
        size: int,
        /,
        group: int,
        output_mask: Mask,
    ) -> tuple[SSAValue, ...]:
        wide, apart = wide_element(element_of(x)), (batch, group, channels // group, size)
        deviation, center = (aten.view(to_element(part, wide), (batch, group, 1, 1)) for part in (rstd, mean))
        normalized = aten.mul.Tensor(aten.sub.Tensor(aten.view(to_element(x, wide), apart), center), deviation)
        return normalization_gradients(
            aten.view(to_element(grad, wide), apart),
            normalized,
            deviation,
            None if weight is None else aten.view(to_element(weight, wide), (1, group, channels // group, 1)),
            (2, 3),
            (0, 3),
            output_mask,
            (shape_of(x), (channels,)),
            element_of(x),
        )
