"""What a module computes, as a reference that later forms of it are compared with: by the interpreter, on given or made-up inputs.

`CheckSemantics` compares after each pass of a pipeline and stops at the first that changes a result.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.diagnostics import Diagnostic
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.interface import inputs_of
from flambeau.dialects.lazy import Array, np
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.row import SchemaOp
from flambeau.passes.manager.instrumentation import Instrumentation, PassStep
from flambeau.passes.manager.pipeline import PassError, Pipeline
from flambeau.passes.manager.snapshot import Snapshot
from flambeau.runtime.interpreter import DelegateRunner, InterpreterError, Leaf, Observer, UnsupportedError, generate_inputs, interpret
from flambeau.runtime.interpreter.kernels import row_kernels

class SemanticsError(ValueError):
    """A module whose results cannot be compared: the interpreter cannot run it, or its results are random."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.op = op
        self.diagnostic = Diagnostic("error", message, op=op)


@dataclass(frozen=True)
class Difference:
    """The first result of a module that is not what the reference says."""

    method: str
    call: int
    """Counted from 0: methods are called twice."""
    output: int | None
    """Which of the method's outputs; None where there are none, for the method fails."""
    detail: str
    """How they differ: `max |Δ| 3.1e-02 of the scale 4.2, tolerance 1e-04`; or how it fails."""
    op: Operation | None = None
    """What fails."""

    def __str__(self) -> str:
        if self.output is None:
            return f"@{self.method} fails{' in the second call' if self.call else ''}: {self.detail}"
        return f"output {self.output} of @{self.method}{' of the second call' if self.call else ''} differs: {self.detail}"


class _RunError(SemanticsError):
    """A form of the module that cannot be run, or fails; its cause is what the interpreter said."""

    def __init__(self, message: str, failure: Difference):
        super().__init__(message, failure.op)
        self.failure = failure


Outputs = dict[str, list[list[Leaf]]]
"""By method, for each call, the leaves of the outputs."""


class Reference:
    """What a module computes on some inputs.

    Each method that is not private is called once or, with made-up inputs or state, twice; state starts afresh for each method. Functions
    that it calls run as part of it.
    """

    def __init__(self, module: ModuleOp, context: FlambeauContext, options: SemanticsOptions | None = None):
        """Runs the module. Raises SemanticsError when the interpreter cannot, or its results are random."""
        self.options = options or SemanticsOptions()
        self.runs = 0
        """How often the interpreter ran a form of the module."""
        self._context = context
        for op in module.walk():
            if _is_random(op):
                raise SemanticsError(f"{operator_name(op)} gives random numbers: the results of two runs cannot be compared", op)
        has_state = any(isinstance(op, GlobalOp) and op.is_mutable is not None for op in module.body.block.ops)
        try:
            # Of made-up inputs the second ones are wide: some mistakes show only beyond the bend of an activation, or below 0.
            self.inputs = self._all_inputs(module, 2 if has_state or self.options.inputs is None else 1, wide=True)
            self.outputs = self.run(module)
        except _RunError as error:
            # Only the inputs of later calls are wide.
            if self.options.inputs is not None or isinstance(error.__cause__, UnsupportedError) or error.failure.call == 0:
                raise
            # Integers may number something in a way that the interface does not show.
            self.inputs = self._all_inputs(module, 2 if has_state else 1, wide=False)
            self.outputs = self.run(module)

    def _all_inputs(self, module: ModuleOp, calls: int, *, wide: bool) -> dict[str, list[list[Leaf]]]:
        try:
            inputs = {
                method.sym_name.data: [self._inputs(method, call, wide and call > 0) for call in range(calls)]
                for method in module.body.block.ops
                if isinstance(method, FuncOp | MethodOp) and _is_called(method)
            }
        except InterpreterError as error:
            raise SemanticsError(str(error), error.op) from error
        if not inputs:
            raise SemanticsError("the module has no function or method to run that is not private")
        return inputs

    def _inputs(self, method: FuncOp | MethodOp, call: int, wide: bool) -> list[Leaf]:
        made_up = generate_inputs(method, self.options.seed + call, wide=wide)
        given = self.options.inputs
        stored = given if given is not None else {} if wide else self._context.examples
        leaves: list[Leaf] = []
        for index, (names, leaf) in enumerate(zip(_input_names(method), made_up, strict=True)):
            if not isinstance(leaf, np.ndarray):
                leaves.append(leaf)
                continue
            keys = (*(f"{method.sym_name.data}.{name}" for name in names), *names, f"arr_{index}")
            found = next((stored[key] for key in keys if key in stored), None)
            if found is None and given is None:
                found = leaf
            if found is None:
                there = ", ".join(stored) or "nothing"
                raise InterpreterError(f"there is no input {names[-1]!r} for @{method.sym_name.data} among the stored ones ({there})")
            leaves.append(found)
        return leaves

    def run(
        self, module: ModuleOp, context: FlambeauContext | None = None, observers: Mapping[tuple[str, int], Observer] | None = None
    ) -> Outputs:
        """The outputs of a form of the module. Raises SemanticsError.

        Args:
            module: the module, or what passes made of it.
            context: owns the weights, where they are not those of the reference.
            observers: by method and call, what sees the result of each operation.
        """
        outputs: Outputs = {}
        self.runs += 1
        for name, calls in self.inputs.items():
            outputs[name] = []
            try:
                program = interpret(module, context or self._context, self.options.delegates, self.options.limit)
                for call, inputs in enumerate(calls):
                    outputs[name].append(program.run(name, inputs, observers.get((name, call)) if observers else None))
            except (ValueError, TypeError) as error:
                op = error.op if isinstance(error, InterpreterError) else None
                failure = Difference(name, len(outputs[name]), None, str(error), op)
                raise _RunError(f"@{name} cannot be run: {error}", failure) from error
        return outputs

    def difference(self, module: ModuleOp, context: FlambeauContext | None = None) -> Difference | None:
        """The first output of a form of the module that is not the reference's. Raises SemanticsError for what has no meaning here."""
        try:
            outputs = self.run(module, context)
        except _RunError as error:
            if isinstance(error.__cause__, UnsupportedError):
                raise
            return error.failure
        for name, calls in self.outputs.items():
            for call, (expected, found) in enumerate(zip(calls, outputs[name], strict=True)):
                if len(expected) != len(found):
                    return Difference(name, call, 0, f"there are {len(found)} outputs instead of {len(expected)}")
                for index, (a, b) in enumerate(zip(expected, found, strict=True)):
                    if (detail := difference_of(a, b, self.options)) is not None:
                        return Difference(name, call, index, detail)
        return None


def operator_name(op: Operation) -> str:
    """What an operation computes: for an instruction, its kernel."""
    return op.operator.data if isinstance(op, CallOp) else op.name


def _is_random(op: Operation) -> bool:
    if isinstance(op, CallOp):
        kernel = row_kernels().get(op.operator.data)
        return kernel is not None and kernel.row.random
    return isinstance(op, SchemaOp) and op.random


def _is_called(method: FuncOp | MethodOp) -> bool:
    """Whether a method may be called from outside, and has a body."""
    if isinstance(method, MethodOp):
        return True
    private = method.sym_visibility is not None and method.sym_visibility.data == "private"
    return not private and not method.is_declaration


def _input_names(method: FuncOp | MethodOp) -> list[list[str]]:
    """What each input is called: in the model, and in the text."""
    if isinstance(method, FuncOp):
        arguments = iter(method.body.blocks[0].args)
        return [[leaf.name, *(_hint(next(arguments)) if leaf.is_tensor else ())] for leaf in inputs_of(method)]
    names = [[name.data] for name in method.input_names or ()]
    slots = method.terminator.inputs
    names += [[f"input_{index}"] for index in range(len(names), len(slots))]
    return [[*name, *_hint(slot)] for name, slot in zip(names, slots, strict=True)]


def _hint(value: SSAValue) -> list[str]:
    return [] if value.name_hint is None else [value.name_hint]


class CheckSemantics(Instrumentation):
    """Runs the module before the pipeline and after each pass, and stops at the first that changes a result, with a PassError."""

    def __init__(
        self,
        tolerance: float | None = None,
        inputs: Mapping[str, Array] | None = None,
        seed: int = 0,
        delegates: DelegateRunner | None = None,
    ):
        self.options = SemanticsOptions(tolerance, inputs, seed, delegates)
        self._module: ModuleOp | None = None
        self._reference: Reference | None = None
        self._good: ModuleOp | None = None
        self._snapshot: Snapshot | None = None

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Takes the reference; of a module that goes through several pipelines, before the first. Raises SemanticsError."""
        if self._module is not module:
            self._reference = Reference(module, _ours(context), self.options)
            self._module = module
            self._good, self._snapshot = module.clone(), Snapshot(module)

    def check_pass(self, step: PassStep) -> None:
        """Compares. Raises PassError that names the pass, the output, and the first value that differs."""
        reference, good, context = self._reference, self._good, _ours(step.context)
        if reference is None or good is None or (snapshot := Snapshot(step.module)) == self._snapshot:
            return
        try:
            difference = reference.difference(step.module, context)
            if difference is None:
                self._good, self._snapshot = step.module.clone(), snapshot
                return
            # Only now, for it runs both forms again and needs what recording takes.
            from flambeau.passes.manager.divergence import first_divergence

            divergence = (
                None if difference.output is None else first_divergence(reference, difference, (good, context), (step.module, context))
            )
        except SemanticsError as error:
            raise PassError(step, f"left a module whose results cannot be checked: {error}", op=error.op) from error
        note = Diagnostic("note", "flambeau bisect, with the same input and pipeline, finds the rewrite that does so")
        if divergence is None:
            raise PassError(step, f"changes the result: {difference}", op=difference.op, notes=(note,))
        raise PassError(step, f"changes the result: {difference}; {divergence}", op=divergence.after.op, notes=(note,))


def _ours(context: Context) -> FlambeauContext:
    if not isinstance(context, FlambeauContext):
        raise SemanticsError("results can be checked only with a context that owns the module's weights")
    return context
