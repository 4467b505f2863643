"""Measures the memory that kernels and delegates of a planned program need, by loading the program in our runtime."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from flambeau.compiler.memory_report import DELEGATE_MEMORY, memory_reports, methods_of
from flambeau.dialects.exec.instructions import DelegateCallOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime import FlambeauError, Runtime


def measure_scratch(module: ModuleOp, context: FlambeauContext, program: bytes) -> tuple[bool, str | None]:
    """Notes on each method how much memory our runtime's kernels and delegates need; returns whether anything was noted.

    A method that our runtime cannot load, for the lack of a backend, has no such figure; why comes second.
    """
    changed, why = False, None
    try:
        loaded = Runtime.get().load_program(program)
    except FlambeauError as error:
        return False, str(error)
    for method in methods_of(module).values():
        if method.scratch is not None:
            continue
        try:
            memory = loaded.metadata(method.sym_name.data).memory
        except FlambeauError as error:
            why = str(error)
            continue
        method.scratch = IntegerAttr(memory.scratch, i64)
        if any(isinstance(op, DelegateCallOp) for op in method.instructions):
            own = memory_reports(module, context)[method.sym_name.data].method
            method.attributes[DELEGATE_MEMORY] = IntegerAttr(memory.method - own, i64)
        changed = True
    return changed, why
