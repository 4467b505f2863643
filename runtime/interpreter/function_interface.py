"""The interface of interpreter functions: their arguments, results and errors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from xdsl.dialects.builtin import UnregisteredOp
from xdsl.ir import Block, Operation, Region

from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.support.lazy import Array


class InterpreterError(ValueError):
    """Reports a module that cannot run, or inputs that do not fit it, in one line for people; `op` is the operation at fault, if any."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.op = op

    @property
    def diagnostic(self) -> Diagnostic:
        """The error as a diagnostic, without its position in the source text."""
        return Diagnostic("error", str(self), op=self.op)


class UnsupportedError(InterpreterError):
    """Reports an operation that the interpreter does not support; the module may be correct."""


class HardwareOnlyError(UnsupportedError):
    """Reports a payload that nothing but the hardware of its backend runs."""


class Jump(NamedTuple):
    """The outcome of a branch: the next block, and the values of its arguments."""

    block: Block
    arguments: Sequence[Array]


RunRegion: TypeAlias = Callable[[Region, Sequence[Array]], Sequence[Array]]
"""Runs a region from its first block, whose arguments it is given; gives the operands of the terminator that it ends with."""

InterpreterFunction: TypeAlias = Callable[..., "Sequence[Array] | Jump"]
"""From an operation and the arrays of its operands to the arrays of its results; a number is an array without dimensions.

The function of an operation that has regions or successors also gets a `RunRegion`, and that of a branch gives a `Jump`. Terminators that
only hand their operands to the operation around them need no function.
"""


def op_name(op: Operation) -> str:
    """Returns the name of an operation in IR text."""
    return op.op_name.data if isinstance(op, UnregisteredOp) else op.name
