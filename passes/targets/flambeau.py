"""The target `flambeau`: the kernels of our C runtime, fused ones among them, which take tensors in any dim order."""

from xdsl.dialects.builtin import f32

from flambeau.dialects.ir.tensor_types import ui64
from flambeau.passes.analysis.operator_table import Limit, Rule
from flambeau.passes.targets.interface import Target
from flambeau.runtime.manifest import kernel_names, kernel_rows

_ATTENDED = tuple(Limit(name, dtypes=(f32,), rank=(4, 4)) for name in ("query", "key", "value", "result"))
_CONTRACTS = {
    "aten::linear.out": Rule((Limit("weight", rank=(2, 2)),)),
    "flambeau::layer_norm.out": Rule((Limit(dtypes=(f32,)),)),
    "flambeau::rms_norm.out": Rule((Limit(dtypes=(f32,)),)),
    "flambeau::scaled_dot_product_attention.out": Rule((*_ATTENDED, Limit("dropout_p", only=0.0))),
}

_NOT_UINT64 = frozenset(row.name for row in kernel_rows().values() if row.is_signed)
"""The kernels that take integers for signed ones. PyTorch has no such operators for uint64 either."""

TARGET = Target("flambeau", kernel_names(), dim_orders="any", lacks=frozenset({ui64}), lacking=_NOT_UINT64, contracts=_CONTRACTS)
