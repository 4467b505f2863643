"""The `flambeau` dialect: attributes of ours on operations that are not. Upstream's dialects know only what upstream declares in them."""

from xdsl.ir import Dialect

from flambeau.dialects.flambeau.blobs import BlobAttr, BlobError, BlobStore

DIALECT = Dialect("flambeau", [], [BlobAttr])

__all__ = ["DIALECT", "BlobAttr", "BlobError", "BlobStore"]
