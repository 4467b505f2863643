"""Writes planned `exec` IR as the files that a device loads, and reads these files as IR."""

from flambeau.runtime.emit.external_constants import Constant, ExternalConstants, ExternalFile, all_external
from flambeau.runtime.emit.pte_reader import read_pte
from flambeau.runtime.emit.pte_writer import EmitError, emit_pte

__all__ = ["Constant", "EmitError", "ExternalConstants", "ExternalFile", "all_external", "emit_pte", "read_pte"]
