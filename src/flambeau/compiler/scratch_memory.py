"""Measures the memory that kernels and delegates of a planned program need, in Flambeau's C runtime."""

from __future__ import annotations

import mmap
import os

from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i64

from flambeau.compiler.memory_report import DELEGATE_MEMORY, memory_reports, methods_of
from flambeau.dialects.exec.instructions import DelegateCallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime import FlambeauError, Runtime, Status, pte
from flambeau.runtime.emit.pte_writer import EmitError, to_program


def measure_scratch(module: ModuleOp, context: FlambeauContext, file: bytes | mmap.mmap | None = None) -> str | None:
    """Records on each method the memory that its kernels and delegates need; returns why some method has no such number, or None.

    A method has no number if Flambeau's runtime lacks a kernel or a backend that the method needs, or if a backend refuses its payload.

    Args:
        module: the planned program.
        context: owns its weights.
        file: the bytes of the program; by default, the program is emitted without weights.

    Raises:
        EmitError: the runtime refuses the program for another reason, or cannot be loaded.
    """
    unmeasured = {name: method for name, method in methods_of(module).items() if not _is_measured(method)}
    if not unmeasured:
        return None
    why = None
    try:
        runtime = Runtime.get()
    except FlambeauError as error:
        raise EmitError(f"the memory that kernels need cannot be measured: {error}") from error
    try:
        loaded = runtime.load_program(_without_weights(module, context) if file is None else file)
    except FlambeauError as error:
        raise EmitError(f"the runtime refuses the program: {error}") from error
    for name, method in unmeasured.items():
        try:
            memory = loaded.metadata(name).memory
        except FlambeauError as error:
            if error.status not in (Status.OPERATOR_MISSING, Status.NOT_FOUND) and not _has_delegates(method):
                raise EmitError(f"the runtime refuses the program: {error}") from error
            why = str(error)
            continue
        method.scratch = IntegerAttr(memory.scratch, i64)
        if _has_delegates(method):
            own = memory_reports(module, context)[name].method
            method.attributes[DELEGATE_MEMORY] = IntegerAttr(memory.method - own, i64)
    return why


def _has_delegates(method: MethodOp) -> bool:
    return any(isinstance(op, DelegateCallOp) for op in method.instructions)


def _is_measured(method: MethodOp) -> bool:
    return method.scratch is not None and (DELEGATE_MEMORY in method.attributes or not _has_delegates(method))


def _without_weights(module: ModuleOp, context: FlambeauContext) -> mmap.mmap:
    """Returns a program file in memory with holes in place of its constants: pages that are never written take no memory."""
    program = to_program(module, context, strip_debug=True)
    constants = set(map(id, program.constants))
    parts = pte.write_program(program)
    file = mmap.mmap(-1, sum(map(len, parts)))
    for part in parts:
        if id(part) in constants:
            file.seek(len(part), os.SEEK_CUR)
        else:
            file.write(part)
    return file
