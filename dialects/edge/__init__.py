"""The `edge` dialect: Core ATen with memory layout on the types, dtypes explicit, and views as copies."""

from xdsl.ir import Dialect

from flambeau.dialects.edge.operator_rules import check_contract as check_operator
from flambeau.dialects.ir.layout_attribute import LayoutAttr

DIALECT = Dialect("edge", [], [LayoutAttr])

__all__ = ["DIALECT", "check_operator"]
