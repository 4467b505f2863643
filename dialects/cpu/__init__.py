"""The `cpu` dialect: loops over the elements of tensors, which programs emitted as C have in place of calls of several kernels."""

from xdsl.ir import Dialect

from flambeau.dialects.cpu.elements import ElementOp, YieldOp
from flambeau.dialects.cpu.loop import LoopOp

DIALECT = Dialect("cpu", [LoopOp, ElementOp, YieldOp])

__all__ = ["DIALECT", "ElementOp", "LoopOp", "YieldOp"]
