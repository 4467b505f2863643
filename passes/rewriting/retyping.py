"""The type of a value that takes another's place, where one of them knows more of the shape."""

from __future__ import annotations

from xdsl.ir import Attribute, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from flambeau.dialects.edge.layout import row_major
from flambeau.dialects.ir.tensor_types import element_of, is_static, shape_of, tensor
from flambeau.dialects.schema.inferred_types import fits
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp


def retyped(value: SSAValue, kind: Attribute) -> SSAValue:
    """Returns the result of a new operation in the type that it is to have, which may know more or less of its shape. Raises ValueError."""
    if value.type == kind:
        return value
    if isinstance(value, OpResult) and value.op.parent is None and fits(kind, value.type):
        renewed = Rewriter.replace_value_with_new_type(value, kind)
        if isinstance(value.op, SchemaOp) and value.op.schema.base == "index_select" and not is_static(index := value.op.operands[1]):
            # The size of the index equals the size of the result along `dim`.
            dim: int = value.op.argument("dim")
            retyped(index, tensor(element_of(index), [shape_of(kind)[dim]]))
        return renewed
    if row_major(value) == kind:
        return aten.alias(value, result_types=[kind])  # an input in another layout
    raise ValueError(f"it gives {value.type}, and {kind} is expected")
