"""Fused normalisation of a sum."""

from __future__ import annotations

from flambeau.dialects.aten.layers.norm import LayerNormOp, RmsNormOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, f32, may_equal, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array


def _infer(x: Tensor, addend: Tensor | None, shape: tuple[int, ...], *affine: Tensor | None) -> Tensor:
    require_same_element(x, addend, *affine)
    size = shape_of(x)
    if not shape or not may_equal(size[-len(shape) :], shape):
        raise ValueError(f"normalized_shape {list(shape)} must be the last dimensions of the input's shape {list(size)}")
    if addend is not None and not may_equal(shape_of(addend), size):
        raise ValueError(f"addend must have the input's shape {list(size)}, got {list(shape_of(addend))}")
    for item in affine:
        if item is not None and not may_equal(shape_of(item), shape):
            raise ValueError(f"weight and bias must have the shape {list(shape)}, got {list(shape_of(item))}")
    return tensor(element_of(x), size)


@row(
    "fused",
    "flambeau",
    "layer_norm(Tensor input, Tensor? addend, int[] normalized_shape, Tensor? weight, Tensor? bias, float eps) -> Tensor",
)
class FusedLayerNormOp(SchemaOp):
    """Layer normalisation of input + addend over the last dimensions."""

    takes = frozenset((f32,))
    inplace = (0, 1)

    @staticmethod
    def infer(x: Tensor, addend: Tensor | None, shape: tuple[int, ...], /, weight: Tensor | None, bias: Tensor | None) -> Tensor:
        return _infer(x, addend, shape, weight, bias)

    @staticmethod
    def numpy(x: Array, addend: Array | None, shape: tuple[int, ...], /, weight: Array | None, bias: Array | None, eps: float) -> Array:
        return LayerNormOp.numpy(x if addend is None else x + addend, shape, weight, bias, eps)


@row("fused", "flambeau", "rms_norm(Tensor input, Tensor? addend, int[] normalized_shape, Tensor? weight, float eps) -> Tensor")
class FusedRmsNormOp(SchemaOp):
    """Root-mean-square normalisation of input + addend over the last dimensions."""

    takes = frozenset((f32,))
    inplace = (0, 1)

    @staticmethod
    def infer(x: Tensor, addend: Tensor | None, shape: tuple[int, ...], /, weight: Tensor | None) -> Tensor:
        return _infer(x, addend, shape, weight)

    @staticmethod
    def numpy(x: Array, addend: Array | None, shape: tuple[int, ...], /, weight: Array | None, eps: float) -> Array:
        return RmsNormOp.numpy(x if addend is None else x + addend, shape, weight, eps)
