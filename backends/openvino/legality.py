"""The operators that OpenVINO takes, as data: for each its limits, and what else must hold of it, with the reason in words."""

from __future__ import annotations

from flambeau.dialects.ir.tensor_types import f32
from flambeau.passes.analysis.operator_table import Limit, OperatorTable, Rule
from flambeau.passes.delegation.interface import BackendOptions

OPERATORS: dict[str, Rule] = {
    **dict.fromkeys(("relu", "sigmoid", "add.Tensor", "mul.Tensor"), Rule()),
    **dict.fromkeys(("clamp", "hardtanh"), Rule()),
    "convolution": Rule((Limit("transposed", only=False),), ("weight", "bias")),
    "linear": Rule((), ("weight", "bias"), whole=True),
    "mean.dim": Rule(),
    "permute_copy": Rule(),
    "view_copy": Rule(),
}
"""What OpenVINO takes, by the names of the operators of the edge level."""

_TABLE = OperatorTable(OPERATORS, Limit(dtypes=(f32,), rank=(1, 6), row_major=True, filled=True, bounded=True))


def table(options: BackendOptions) -> OperatorTable:
    """What OpenVINO takes: no option changes it. All constants go into the payload."""
    return _TABLE
