"""The `flambeau` dialect: attributes of Flambeau for operations of other dialects."""

from xdsl.ir import Dialect

from flambeau.dialects.flambeau.blobs import BlobAttr, BlobError, BlobStore

DIALECT = Dialect("flambeau", [], [BlobAttr])

__all__ = ["DIALECT", "BlobAttr", "BlobError", "BlobStore"]
