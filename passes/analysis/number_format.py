"""The quantized numbers of a backend, as data: what a quantizer makes of the activations and the weights of a program for it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from flambeau.dialects.schema.row import SchemaOp


def _never(op: SchemaOp) -> bool:
    return False


@dataclass(frozen=True)
class NumberFormat:
    """The scales, zero points and ranges of quantized numbers. Their element types are in the table of operators."""

    symmetric: bool = False
    """Whether the range of an activation has zero in its middle."""
    scale_per_output: bool = True
    """Whether a weight has a scale for each output; otherwise it has one scale."""
    weight_limit: int = 127
    """The greatest integer of a weight; the least is its negative. 63, 7 bits, fits processors whose sums of two products saturate."""
    fixed: Mapping[str, tuple[float, int]] = field(default_factory=dict[str, tuple[float, int]])
    """The scale and the zero point of the results of operators, by their names in the table."""
    keeps_scale: Callable[[SchemaOp], bool] = _never
    """Whether the result of an operation has the scale and the zero point of its operand."""
