"""Dead operations: those that can be erased."""

from __future__ import annotations

from xdsl.ir import Operation
from xdsl.transforms.dead_code_elimination import is_trivially_dead

from flambeau.dialects.flambeau.symbol_definitions import gives_symbol


def is_dead(op: Operation) -> bool:
    """Returns whether nothing uses the results of an operation without effects, nor the sizes that they alone give."""
    return is_trivially_dead(op) and not gives_symbol(op)
