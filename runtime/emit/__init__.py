"""From planned `exec` IR to what a device loads, and back."""

from flambeau.runtime.emit.pte_reader import read_pte
from flambeau.runtime.emit.pte_writer import EmitError, emit_pte

__all__ = ["EmitError", "emit_pte", "read_pte"]
