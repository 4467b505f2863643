"""The `ml_program` dialect: weights and states as globals. Completes xDSL's dialect, with values that are stored outside the text."""

from xdsl.ir import Dialect

from flambeau.dialects.ml_program.ops import GlobalLoadConstantOp, GlobalLoadOp, GlobalOp, GlobalStoreOp

DIALECT = Dialect("ml_program", [GlobalOp, GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp])

__all__ = ["DIALECT", "GlobalLoadConstantOp", "GlobalLoadOp", "GlobalOp", "GlobalStoreOp"]
