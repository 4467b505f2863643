"""What a pattern has matched, by the values of its `pdl` operations; and errors of patterns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.diagnostics import OperationError

Matched: TypeAlias = "Operation | Attribute | SSAValue | tuple[SSAValue, ...] | tuple[Attribute, ...]"
"""What a value of the `pdl` dialect stands for."""
State: TypeAlias = "dict[SSAValue, Any]"
"""The same, for each value that has been matched or made."""
Test: TypeAlias = Callable[[Any, State], bool]
"""Whether a candidate fits; notes in the state what it matched."""


class PdlError(OperationError):
    """A `pdl.pattern` that cannot be applied, at the operation of it that is to blame."""


def owner(value: SSAValue) -> Operation:
    """The `pdl` operation that defines a value. Raises ValueError for an argument of a block, which patterns have none of."""
    if not isinstance(value.owner, Operation):
        raise ValueError("values of a pattern are defined by operations")
    return value.owner
