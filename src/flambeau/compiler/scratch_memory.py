"""Measures the memory that kernels and delegates of a planned program need, by loading the program in our runtime."""

from __future__ import annotations

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from flambeau.compiler.memory_report import DELEGATE_MEMORY, memory_reports, methods_of
from flambeau.dialects.exec.instructions import DelegateCallOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime import FlambeauError, Runtime, Status
from flambeau.runtime.emit.pte_writer import EmitError


def measure_scratch(module: ModuleOp, context: FlambeauContext, program: bytes) -> tuple[bool, str | None]:
    """Notes on each method how much memory our runtime's kernels and delegates need; returns whether anything was noted.

    A method has no such figure if our runtime lacks a kernel or a backend that it needs, or a backend refuses its part; why comes second.

    Raises EmitError if the runtime refuses the program for another reason.
    """
    changed, why = False, None
    try:
        loaded = Runtime.get().load_program(program)
    except FlambeauError as error:
        raise EmitError(f"the runtime refuses the program: {error}") from error
    for method in methods_of(module).values():
        delegates = any(isinstance(op, DelegateCallOp) for op in method.instructions)
        if method.scratch is not None and not (delegates and DELEGATE_MEMORY not in method.attributes):
            continue
        try:
            memory = loaded.metadata(method.sym_name.data).memory
        except FlambeauError as error:
            if error.status not in (Status.OPERATOR_MISSING, Status.NOT_FOUND) and not delegates:
                raise EmitError(f"the runtime refuses the program: {error}") from error
            why = str(error)
            continue
        method.scratch = IntegerAttr(memory.scratch, i64)
        if delegates:
            own = memory_reports(module, context)[method.sym_name.data].method
            method.attributes[DELEGATE_MEMORY] = IntegerAttr(memory.method - own, i64)
        changed = True
    return changed, why
