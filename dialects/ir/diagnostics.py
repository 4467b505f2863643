"""Diagnostics: errors, warnings, remarks and notes, each with its position in the text and its location in the user's model.

Errors are exceptions that carry a `Diagnostic`. Warnings and remarks do not stop the work: `warn` and `remark` pass them to the current
listener, such as `flambeau-opt`. Without a listener warnings become those of Python, and remarks are dropped.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Literal, TypeAlias

from xdsl.ir import Attribute, Operation

from flambeau.support.position import Position

Severity: TypeAlias = Literal["error", "warning", "remark", "note"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "remark", "note")


@dataclass(frozen=True)
class Diagnostic:
    """One message for the user."""

    severity: Severity
    message: str
    """One line: what is wrong, why, and what to do. Without position and severity."""
    position: Position | None = None
    """The position in the text that was read, if known."""
    op: Operation | None = None
    """The operation that the message is about; its location names the line of the user's model."""
    notes: tuple[Diagnostic, ...] = ()
    location: Attribute | None = None
    """The location in the user's model when there is no operation, as for a line that does not parse."""

    @property
    def model_location(self) -> Attribute | None:
        """The location in the user's model, if known."""
        return self.location if self.op is None else self.op.location

    def __str__(self) -> str:
        return f"{self.position}: {self.severity}: {self.message}" if self.position else f"{self.severity}: {self.message}"


class OperationError(ValueError):
    """An error about an operation. The tool that parsed the text adds the position.

    Passes and patterns raise it. The message is one line that begins with a small letter: what is wrong, why, and what to do. The pass
    manager adds the name of the pass.

    Example:
        error = OperationError(product, "the device multiplies tensors only; use aten.mul.Tensor")
        assert error.diagnostic.op is product
    """

    def __init__(self, op: Operation, message: str, notes: tuple[Diagnostic, ...] = ()):
        super().__init__(message)
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
    """Passes every diagnostic that is emitted within the block to `listener`, or only those of the given severities."""
    token = _LISTENER.set((listener, frozenset(severities)))
    try:
        yield
    finally:
        _LISTENER.reset(token)


def emit(diagnostic: Diagnostic) -> None:
    """Passes a diagnostic to the listener, if there is one for its severity; a warning without any listener becomes one of Python."""
    found = _LISTENER.get()
    if found is not None and diagnostic.severity in found[1]:
        found[0](diagnostic)
    elif found is None and diagnostic.severity == "warning":
        warnings.warn(diagnostic.message, stacklevel=3)


def is_listening(severity: Severity = "remark") -> bool:
    """Returns whether there is a listener for diagnostics of this severity. Ask before work that only a diagnostic needs."""
    found = _LISTENER.get()
    return found is not None and severity in found[1]


def warn(op: Operation, message: str) -> None:
    """Emits a warning about something that the user probably did not intend; the work continues. Tools always show warnings."""
    emit(Diagnostic("warning", message, op=op))


def remark(op: Operation, message: str) -> None:
    """Emits a remark on a rewrite that a pass made or declined. Tools show remarks with `--remarks`."""
    emit(Diagnostic("remark", message, op=op))
