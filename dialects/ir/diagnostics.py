"""Diagnostics: what is wrong or noteworthy, where in the text, and where in the user's model.

Errors are raised, as exceptions that carry their `Diagnostic`. Warnings and remarks do not end anything: `warn` and `remark` hand them to
whoever listens, as `flambeau-opt` does; with no listener they are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.dialects.builtin import DYNAMIC_INDEX
from xdsl.ir import Attribute, Operation

from flambeau.support.position import Position

Severity: TypeAlias = Literal["error", "warning", "remark", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "remark", "note")


@dataclass(frozen=True)
class Diagnostic:
    """One thing to tell a person."""

    severity: Severity
    message: str
    """One line: what, why, and what would help. Without position and severity."""
    position: Position | None = None
    """The place in the text that was read, where it is known."""
    op: Operation | None = None
    """The operation that it is about; its location says where in the user's model."""
    notes: tuple[Diagnostic, ...] = ()
    location: Attribute | None = None
    """Where in the user's model, for what is about no operation: a line that cannot be read."""

    @property
    def model_location(self) -> Attribute | None:
        """Where in the user's model, if that is known."""
        return self.location if self.op is None else self.op.location

    def __str__(self) -> str:
        return f"{self.position}: {self.severity}: {self.message}" if self.position else f"{self.severity}: {self.message}"


_DYNAMIC = str(DYNAMIC_INDEX)
"""What a dynamic dimension is in lists of numbers; people know it as `?`."""


class OperationError(ValueError):
    """What is wrong with an operation: raised where only the operation is known, placed in the text by whoever read it.

    Passes and patterns raise it. The message is one line that begins with a small letter: what, why, and what would help; the pass manager
    adds the name of the pass, and tools the place.

    Example:
        error = OperationError(product, "the device multiplies tensors only; use aten.mul.Tensor")
        assert error.diagnostic.op is product
    """

    def __init__(self, op: Operation, message: str, notes: tuple[Diagnostic, ...] = ()):
        super().__init__(message.replace(_DYNAMIC, "?"))
        self.op = op
        self.notes = notes

    @property
    def diagnostic(self) -> Diagnostic:
        """The error, without its position in the text."""
        return Diagnostic("error", str(self), op=self.op, notes=self.notes)


Listener: TypeAlias = Callable[[Diagnostic], None]

_LISTENER: ContextVar[tuple[Listener, frozenset[Severity]] | None] = ContextVar("flambeau_diagnostics", default=None)


@contextmanager
def listening(listener: Listener, severities: Iterable[Severity] = SEVERITIES) -> Generator[None, None, None]:
    """Hands every warning and remark within the block to `listener`, or only those of some severities."""
    token = _LISTENER.set((listener, frozenset(severities)))
    try:
        yield
    finally:
        _LISTENER.reset(token)


def emit(diagnostic: Diagnostic) -> None:
    """Hands a diagnostic to the listener, if there is one for its severity."""
    found = _LISTENER.get()
    if found is not None and diagnostic.severity in found[1]:
        found[0](diagnostic)


def is_listening(severity: Severity = "remark") -> bool:
    """Whether anybody gets what is emitted: worth asking before work that only a diagnostic needs."""
    found = _LISTENER.get()
    return found is not None and severity in found[1]


def warn(op: Operation, message: str) -> None:
    """Something that is probably not what the user wants, and does not stop the work: shown always."""
    emit(Diagnostic("warning", message, op=op))


def remark(op: Operation, message: str) -> None:
    """What a pass did or declined to do with an operation, and why: shown with `--remarks`."""
    emit(Diagnostic("remark", message, op=op))
