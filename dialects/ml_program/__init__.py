"""Weights and state: xDSL's `ml_program` globals, completed, with values that live outside the text."""

from xdsl.ir import Dialect

from flambeau.dialects.flambeau.blobs import BlobAttr, BlobError, BlobStore
from flambeau.dialects.ml_program.ops import GlobalLoadConstantOp, GlobalLoadOp, GlobalOp, GlobalStoreOp

DIALECT = Dialect("ml_program", [GlobalOp, GlobalLoadConstantOp, GlobalLoadOp, GlobalStoreOp])

__all__ = ["DIALECT", "BlobAttr", "BlobError", "BlobStore", "GlobalLoadConstantOp", "GlobalLoadOp", "GlobalOp", "GlobalStoreOp"]
