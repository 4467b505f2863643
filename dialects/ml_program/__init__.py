"""The `ml_program` dialect: weights and states as globals. Completes xDSL's dialect, with values that are stored outside the text."""

from xdsl.ir import Dialect

from flambeau.dialects.flambeau.blobs import BlobAttr, BlobError, BlobStore
from flambeau.dialects.ml_program.ops import GlobalLoadConstantOp, GlobalLoadOp, GlobalOp, GlobalStoreOp

DIALECT = Dialect("ml_program", [GlobalOp, GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp])

__all__ = ["DIALECT", "BlobAttr", "BlobError", "BlobStore", "GlobalLoadConstantOp", "GlobalLoadOp", "GlobalOp", "GlobalStoreOp"]
