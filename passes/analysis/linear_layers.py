"""Matrix products that are linear layers, in each form that programs have them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.ir import Operation, SSAValue

from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.aten.linear_algebra.matmul import AddmmOp, MmOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp

PRODUCTS: tuple[type[SchemaOp], ...] = (LinearOp, AddmmOp, MmOp)
EDGE_PRODUCTS = tuple(kind.at("edge") for kind in PRODUCTS)


@dataclass(frozen=True)
class LinearParts:
    """The operands of a linear layer."""

    input: SSAValue
    weight: SSAValue
    bias: SSAValue | None
    transposed: bool
    """Whether the weight is [inputs, outputs]."""

    @property
    def output_axis(self) -> int:
        """The dimension of the output features in the weight."""
        return 1 if self.transposed else 0


def linear_parts(op: Operation) -> LinearParts | None:
    """Returns the operands of a linear layer, written as linear, mm or addmm; None for other operations."""
    match op:
        case LinearOp():
            x, weight, bias = op.arguments()
            return LinearParts(x, weight, bias, transposed=False)
        case MmOp():
            x, weight = op.arguments()
            return LinearParts(x, weight, None, transposed=True)
        case AddmmOp():
            bias, x, weight, beta, alpha = op.arguments()
            fits = beta == alpha == 1 and shape_of(bias) == shape_of(weight)[1:]
            return LinearParts(x, weight, bias, transposed=True) if fits else None
        case _:
            return None
