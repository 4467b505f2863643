"""The matches of a pattern by the values of its `pdl` operations; and errors of patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.context import Context
from xdsl.dialects import pdl
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.parse_messages import unknown_operation
from flambeau.support.suggestions import did_you_mean

Matched: TypeAlias = "Operation | Attribute | SSAValue | tuple[SSAValue, ...] | tuple[Attribute, ...]"
"""The operation, value, attribute or type that a value of the `pdl` dialect stands for."""
State: TypeAlias = "dict[SSAValue, Any]"
"""The same, for each value that has been matched or made."""
Test: TypeAlias = Callable[[Any, State], bool]
"""Whether a candidate fits; notes in the state what it matched."""


class PdlError(OperationError):
    """A `pdl.pattern` that cannot be applied, located at the operation to blame."""


def owner(value: SSAValue) -> Operation:
    """Returns the `pdl` operation that defines a value. Raises ValueError for a block argument."""
    if not isinstance(value.owner, Operation):
        raise ValueError("values of a pattern are defined by operations")
    return value.owner


def operation_kind(op: pdl.OperationOp, context: Context) -> type[Operation] | None:
    """Returns the class that a `pdl.operation` names, or None. Raises PdlError where there is no such operation or attribute."""
    if op.opName is None:
        return None
    kind = context.get_optional_op(op.opName.data)
    if kind is None:
        raise PdlError(op, unknown_operation(op.opName.data, context))
    if issubclass(kind, SchemaOp):
        known = kind.get_irdl_definition().properties
        for name in (item.data for item in op.attributeValueNames.data):
            if name not in known and "." not in name:
                raise PdlError(op, f"{kind.name} has no attribute {name!r}{did_you_mean(name, kind.schema.attributes)}")
    return kind
