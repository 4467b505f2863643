"""Operators by name, for code that does not import their rows."""

from __future__ import annotations

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.tables import discover


def op(name: str) -> type[SchemaOp]:
    """Returns the class of an operator by its name in the IR: `op("aten.add.Tensor")`, `op("fused.linear")`.

    One of `aten` stands for its siblings of all levels wherever classes are compared, and what a pattern builds with it takes the level of
    what it replaces; `op("edge.add.Tensor")` is for that level only.

    Raises:
        ValueError: when there is no such operator.
    """
    found = find_op(name)
    if found is None and discover():
        found = find_op(name)
    if found is None:
        from flambeau.dialects.text.parse_messages import unknown_operation

        context = FlambeauContext()
        if context.get_optional_op(name) is not None:
            raise ValueError(f"{name} is not an operator with a schema: import its class")
        raise ValueError(unknown_operation(name, context))
    return found
