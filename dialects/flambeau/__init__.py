"""The `flambeau` dialect: attributes of Flambeau for operations of other dialects, and operations on symbols."""

from xdsl.ir import Dialect

from flambeau.dialects.flambeau.symbol_operations import SYMBOL_OPERATIONS
from flambeau.dialects.ir.blobs import BlobAttr
from flambeau.dialects.ir.extent_attribute import ExtentAttr

DIALECT = Dialect("flambeau", SYMBOL_OPERATIONS, [BlobAttr, ExtentAttr])
