"""The operators that the backend takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from flambeau.backends.vulkan.dialect.elementwise import BINARY, UNARY
from flambeau.backends.vulkan.dialect.kernels import MOST_BYTES, MOST_DIMENSIONS
from flambeau.dialects.ir.tensor_types import f32, nbytes
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation import checks
from flambeau.passes.delegation.composites import COMPOSITES
from flambeau.passes.delegation.interface import BackendOptions


def _fits_a_binding(op: SchemaOp) -> str | None:
    """Tensors of 128 MiB at most, which every device can bind."""
    most = max((nbytes(value) for value in (*op.operands, *op.results)), default=0)
    return None if most <= MOST_BYTES else f"a tensor has {most} bytes, and every device binds {MOST_BYTES} only"


_PLAIN = Rule()
_UNSCALED = Rule((Limit("alpha", only=1),))

OPERATORS: dict[str, Rule] = {
    # elementwise
    **dict.fromkeys((*UNARY, *BINARY, "gelu", "leaky_relu"), _PLAIN),
    **dict.fromkeys(("mul.Tensor", "mul.Scalar", "div.Tensor", "div.Scalar"), _PLAIN),
    **dict.fromkeys(("add.Tensor", "add.Scalar", "sub.Tensor", "sub.Scalar"), _UNSCALED),
    **dict.fromkeys(("clamp", "hardtanh"), Rule(checks=(checks.limits_in_order,))),
    "elu": Rule((Limit("scale", only=1), Limit("input_scale", only=1))),
}
"""What the backend takes, by the names of the operators of the edge level."""

_TABLE = OperatorTable(
    OPERATORS,
    Limit(dtypes=(f32,), rank=(0, MOST_DIMENSIONS), static=True, row_major=True, filled=True),
    checks=(_fits_a_binding,),
    in_parts={name: COMPOSITES[name] for name in ("addcmul", "logit", "rsub.Scalar")},
)


def table(options: BackendOptions) -> OperatorTable:
    """Returns the table of the operators that the backend takes, for any options. All constants go into the payload."""
    return _TABLE
