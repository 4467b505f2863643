"""The operators that the backend takes, as data."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from flambeau.backends.elementwise.payload import COMPUTATIONS, MOST_DIMENSIONS
from flambeau.dialects.ir.tensor_types import element_of, numel
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule, is_constant
from flambeau.passes.delegation.interface import BackendOptions


def _is_number(op: SchemaOp, value: SSAValue) -> bool:
    """Returns whether an operand is one constant float32 number for all elements."""
    return is_constant(value) and element_of(value) == f32 and value.type != op.result.type and numel(value) == 1


def _operands_fit(op: SchemaOp) -> str | None:
    """Operands of the result's type, or constant numbers."""
    fit = all(value.type == op.result.type or _is_number(op, value) for value in op.operands)
    return None if fit else "an operand is broadcast or of another type"


_PLAIN = Rule(checks=(_operands_fit,))
_UNSCALED = Rule((Limit("alpha", only=1),), checks=(_operands_fit,))
_TABLE = OperatorTable(
    {
        **dict.fromkeys(COMPUTATIONS, _PLAIN),
        **dict.fromkeys(("mul.Scalar", "div.Scalar"), _PLAIN),
        **dict.fromkeys(("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar"), _UNSCALED),
    },
    tensors=Limit(dtypes=(f32,), rank=(0, MOST_DIMENSIONS), static=True, row_major=True),
    absorbs=_is_number,
    # Operators have at most two operands, so that this many need fewer arguments and registers than a payload can number.
    most=60,
    in_parts=dict.fromkeys(("addcmul", "logit", "rsub.Scalar", "silu"), _PLAIN),
)


def table(options: BackendOptions) -> OperatorTable:
    """Returns the table of the operators that the backend takes, for any options."""
    return _TABLE
