"""The `emitc` dialect, which is printed as C. Completes xDSL's dialect, as far as emitted programs need it.

xDSL has `emitc.add`, `emitc.apply` and `emitc.call_opaque`.
"""

from xdsl.dialects.emitc import EmitC
from xdsl.ir import Dialect

from flambeau.dialects.emitc.ops import BLOB, ConstantOp, ForOp, FuncOp, GetGlobalOp, GlobalOp, IncludeOp, ReturnOp, VerbatimOp, YieldOp

DIALECT = Dialect(
    "emitc",
    [*EmitC.operations, ConstantOp, ForOp, FuncOp, GetGlobalOp, GlobalOp, IncludeOp, ReturnOp, VerbatimOp, YieldOp],
    list(EmitC.attributes),
)

__all__ = [
    "BLOB",
    "DIALECT",
    "ConstantOp",
    "ForOp",
    "FuncOp",
    "GetGlobalOp",
    "GlobalOp",
    "IncludeOp",
    "ReturnOp",
    "VerbatimOp",
    "YieldOp",
]
