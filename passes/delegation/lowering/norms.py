"""Normalisations of rows in one form, for converters."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.layers.norm import rms_eps
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp

NORMS = ("layer_norm", "native_layer_norm", "native_group_norm", "rms_norm")
"""The operators that normalise rows."""


@dataclass(frozen=True)
class Norm:
    """A normalisation.

    Attributes:
        rows: the shape in which each row is normalised.
        scaled: the shape in which the result is multiplied by the weight, and the bias added.
        factors: the shape of weight and bias there.
        centred: whether the mean is subtracted.
    """

    rows: tuple[int, int]
    scaled: tuple[int, ...]
    factors: tuple[int, ...]
    centred: bool
    weight: SSAValue | None
    bias: SSAValue | None
    eps: float


def norm_of(op: SchemaOp) -> Norm:
    """Returns the normalisation that an operator computes."""
    shape, weight, centred = shape_of(op.operands[0]), op.argument("weight"), op.schema.base != "rms_norm"
    bias, eps = op.argument("bias") if centred else None, op.argument("eps")
    if op.schema.base == "native_group_norm":
        batch, channels, places, groups = (op.argument(name) for name in ("N", "C", "HxW", "group"))
        rows = batch * groups, channels // groups * places
        return Norm(rows, (batch, channels, places), (1, channels, 1), True, weight, bias, eps)
    count = prod(op.argument("normalized_shape"))
    rows = prod(shape) // count, count
    return Norm(rows, rows, (1, count), centred, weight, bias, eps if centred else rms_eps(f32, eps))
