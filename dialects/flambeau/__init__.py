"""The `flambeau` dialect: attributes of Flambeau for operations of other dialects."""

from xdsl.ir import Dialect

from flambeau.dialects.flambeau.blobs import BlobAttr, BlobError, BlobStore
from flambeau.dialects.ir.extent_attribute import ExtentAttr

DIALECT = Dialect("flambeau", [], [BlobAttr, ExtentAttr])

__all__ = ["DIALECT", "BlobAttr", "BlobError", "BlobStore"]
