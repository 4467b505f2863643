"""The target `flambeau`: the kernels of our C runtime, fused ones among them, which take tensors in any dim order."""

from dataclasses import replace

from xdsl.dialects.builtin import f32

from flambeau.dialects.ir.tensor_types import ui64
from flambeau.dialects.schema.row_table import dialect_names
from flambeau.passes.analysis.operator_table import Limit, Rule
from flambeau.passes.targets.interface import Target
from flambeau.runtime.manifest import kernel_rows

_ATTENDED = tuple(Limit(name, dtypes=(f32,), rank=(4, 4)) for name in ("query", "key", "value", "result"))
_CONTRACTS = {
    "aten::linear.out": Rule((Limit("weight", rank=(2, 2)),)),
    "flambeau::layer_norm.out": Rule((Limit(dtypes=(f32,)),)),
    "flambeau::rms_norm.out": Rule((Limit(dtypes=(f32,)),)),
    "flambeau::scaled_dot_product_attention.out": Rule((*_ATTENDED, Limit("dropout_p", only=0.0))),
}

# These kernels take integers for signed ones. PyTorch has no such operators for uint64 either.
_SIGNED = {row.name: replace(_CONTRACTS.get(row.name, Rule()), lacks=frozenset({ui64})) for row in kernel_rows().values() if row.is_signed}

TARGET = Target(
    "flambeau",
    # Those of a group that is named after a dialect are another runtime's, whose programs this one runs too.
    frozenset(row.name for row in kernel_rows().values() if row.group not in dialect_names()),
    dim_orders="any",
    contracts=_CONTRACTS | _SIGNED,
    choose="speed on a CPU: the operators of Flambeau's runtime, with fused ones and packed weights",
    runs_on="Flambeau's runtime",
)
