"""The operators that the device computes, as data: limits, and checks with their reasons in words."""

from flambeau.dialects.ir.tensor_types import numel
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.kit import SchemaOp, shape_of
from xdsl.dialects.builtin import f32

from .dialect import MOST_TERMS
from .payload import MOST_DIMENSIONS, MOST_NUMBERS


def _fits_the_memory(op: SchemaOp) -> str | None:
    """Accepts tensors of up to 2^24 elements; otherwise returns the reason."""
    most = max(numel(value) for value in (*op.operands, *op.results))
    return f"a tensor has {most} numbers, and the memory of the device holds {MOST_NUMBERS} of each" if most > MOST_NUMBERS else None


def _sums_fit(op: SchemaOp) -> str | None:
    """Accepts sums of up to 2^14 products; otherwise returns the reason."""
    terms = shape_of(op.operands[0])[-1]
    return f"each result is a sum of {terms} products, and the device adds up to {MOST_TERMS}" if terms > MOST_TERMS else None


UNSCALED = Rule((Limit("alpha", only=1),))
MATRICES = Limit("input", rank=(2, 2)), Limit("weight", rank=(2, 2))

TABLE = OperatorTable(
    {
        **dict.fromkeys(("neg", "abs", "relu", "maximum", "minimum", "mul.Tensor"), Rule()),
        **dict.fromkeys(("add.Tensor", "sub.Tensor"), UNSCALED),
        "mm": Rule(checks=(_sums_fit,)),
        "linear": Rule(MATRICES, constants=("weight",), checks=(_sums_fit,)),
    },
    # the limits of all operands
    tensors=Limit(dtypes=(f32,), rank=(0, MOST_DIMENSIONS), static=True, row_major=True),
    checks=(_fits_the_memory,),
)
