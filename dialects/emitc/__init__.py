"""The `emitc` dialect, which is printed as C. Completes xDSL's dialect, as far as emitted programs need it.

xDSL has `emitc.add`, `emitc.apply` and `emitc.call_opaque`.
"""

from xdsl.dialects.emitc import EmitC
from xdsl.ir import Dialect

from flambeau.dialects.emitc.ops import BLOB, ConstantOp, FuncOp, GetGlobalOp, GlobalOp, IncludeOp, ReturnOp, VerbatimOp

DIALECT = Dialect(
    "emitc",
    [*EmitC.operations, ConstantOp, FuncOp, GetGlobalOp, GlobalOp, IncludeOp, ReturnOp, VerbatimOp],
    list(EmitC.attributes),
)

__all__ = ["BLOB", "DIALECT", "ConstantOp", "FuncOp", "GetGlobalOp", "GlobalOp", "IncludeOp", "ReturnOp", "VerbatimOp"]
