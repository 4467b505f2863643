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
from flambeau.runtime.interpreter import DelegateRunner, InterpreterError, Leaf, Observer, generate_inputs, interpret
from flambeau.runtime.interpreter.kernels import row_kernels

TOLERANCES = {"float64": 1e-8, "float32": 1e-4, "float16": 1e-2, "bfloat16": 8e-2}
"""How far results may lie apart, relative to the largest number of the result, by dtype. Integers and bools must be equal."""


class SemanticsError(ValueError):
    """A module whose results cannot be compared: the interpreter cannot run it, or its results are random."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.op = op
        self.diagnostic = Diagnostic("error", message, op=op)


@dataclass(frozen=True)
class SemanticsOptions:
    """How to run a module and compare its results."""

    tolerance: float | None = None
    """For float32, relative to the largest number of a result; other dtypes are scaled alike. None: TOLERANCES."""
    inputs: Mapping[str, Array] | None = None
    """By the names of inputs (`x`, or `forward.x` where methods differ, or `arr_0`). None: what the program brought with it, where it did,
    and others that `seed` makes up."""
    seed: int = 0
    delegates: DelegateRunner | None = None
    """Runs payloads of backends."""

    def __post_init__(self) -> None:
        if self.tolerance is not None and not 0 <= self.tolerance < math.inf:
            raise ValueError(f"the tolerance must be a number of 0 or more, got {self.tolerance}")

    def tolerance_for(self, dtype: np.dtype[Any]) -> float:
        """What a dtype is compared with."""
        default = TOLERANCES.get(dtype.name, 0.0)
        return default if self.tolerance is None else default / TOLERANCES["float32"] * self.tolerance


@dataclass(frozen=True)
class Difference:
    """The first result of a module that is not what the reference says."""

    method: str
    call: int
    """Counted from 0: a module with state is called twice."""
    output: int
    """Which of the method's outputs."""
    detail: str
    """How they differ: `max |Δ| 3.1e-02 of the scale 4.2, tolerance 1e-04`."""

    def __str__(self) -> str:
        again = " of the second call" if self.call else ""
        return f"output {self.output} of @{self.method}{again} differs: {self.detail}"


Outputs = dict[str, list[list[Leaf]]]
"""By method, for each call, the leaves of the outputs."""


class Reference:
    """What a module computes on some inputs.

    Each method is called once, or twice if the module holds state, which starts afresh for each method.
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
        except SemanticsError:
            if self.options.inputs is not None:
                raise
            # Integers may number something in a way that the interface does not show.
            self.inputs = self._all_inputs(module, 2 if has_state else 1, wide=False)
            self.outputs = self.run(module)

    def _all_inputs(self, module: ModuleOp, calls: int, *, wide: bool) -> dict[str, list[list[Leaf]]]:
        try:
            inputs = {
                method.sym_name.data: [self._inputs(method, call, wide and call > 0) for call in range(calls)]
                for method in module.body.block.ops
                if isinstance(method, FuncOp | MethodOp) and not _is_declaration(method)
            }
        except InterpreterError as error:
            raise SemanticsError(str(error), error.op) from error
        if not inputs:
            raise SemanticsError("the module has no function or method to run")
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
            try:
                program = interpret(module, context or self._context, self.options.delegates)
                outputs[name] = [
                    program.run(name, inputs, observers.get((name, call)) if observers else None) for call, inputs in enumerate(calls)
                ]
            except (ValueError, TypeError) as error:
                op = error.op if isinstance(error, InterpreterError) else None
                raise SemanticsError(f"@{name} cannot be run: {error}", op) from error
        return outputs

    def difference(self, module: ModuleOp, context: FlambeauContext | None = None) -> Difference | None:
        """The first output of a form of the module that is not the reference's. Raises SemanticsError."""
        outputs = self.run(module, context)
        for name, calls in self.outputs.items():
            for call, (expected, found) in enumerate(zip(calls, outputs[name], strict=True)):
                if len(expected) != len(found):
                    return Difference(name, call, 0, f"there are {len(found)} outputs instead of {len(expected)}")
                for index, (a, b) in enumerate(zip(expected, found, strict=True)):
                    if (detail := difference_of(a, b, self.options)) is not None:
                        return Difference(name, call, index, detail)
        return None


def difference_of(expected: Leaf, found: Leaf, options: SemanticsOptions) -> str | None:
    """How two results differ; None when they are the same up to the tolerance, with NaN and infinities in the same places."""
    if not isinstance(expected, np.ndarray) or not isinstance(found, np.ndarray):
        same = not isinstance(expected, np.ndarray) and not isinstance(found, np.ndarray) and expected == found
        return None if same else f"{_brief(found)} instead of {_brief(expected)}"
    if expected.dtype != found.dtype or expected.shape != found.shape:
        return f"{_brief(found)} instead of {_brief(expected)}"
    tolerance = options.tolerance_for(expected.dtype)
    if not tolerance:
        wrong = int(np.count_nonzero(expected != found))
        return f"{wrong} of {expected.size} elements" if wrong else None
    a, b = expected.astype(np.float64), found.astype(np.float64)
    finite = np.isfinite(a)
    odd = ~finite & ~((a == b) | (np.isnan(a) & np.isnan(b))) | finite & ~np.isfinite(b)
    if odd.any():
        return f"{int(odd.sum())} of {odd.size} elements are infinite or not numbers on one side only"
    deltas = np.abs(a[finite] - b[finite])
    delta = float(deltas.max(initial=0.0))
    scale = float(np.abs(a[finite]).max(initial=0.0))
    # Where results cancel out, rounding leaves something: what the dtype cannot add to 1 is no difference.
    if delta <= max(tolerance * scale, _epsilon(expected.dtype)):
        return None
    relative = f"{delta / scale:.1e} of its scale {scale:.3g}" if scale else f"{delta:.1e}, where all should be 0"
    return f"max |Δ| is {relative}, tolerance {tolerance:.0e}"


def _epsilon(dtype: np.dtype[Any]) -> float:
    """What the dtype can add to 1 at least."""
    return 2.0 ** -{"float64": 52, "float32": 23, "float16": 10}.get(dtype.name, 7)


def _brief(leaf: Leaf) -> str:
    return f"{leaf.dtype} {list(leaf.shape)}" if isinstance(leaf, np.ndarray) else repr(leaf)


def operator_name(op: Operation) -> str:
    """What an operation computes: for an instruction, its kernel."""
    return op.operator.data if isinstance(op, CallOp) else op.name


def _is_random(op: Operation) -> bool:
    if isinstance(op, CallOp):
        kernel = row_kernels().get(op.operator.data)
        return kernel is not None and kernel.row.random
    return isinstance(op, SchemaOp) and op.random


def _is_declaration(method: FuncOp | MethodOp) -> bool:
    return isinstance(method, FuncOp) and method.is_declaration


def _input_names(method: FuncOp | MethodOp) -> list[list[str]]:
    """What each input is called: in the model, and in the text."""
    if isinstance(method, FuncOp):
        arguments = iter(method.body.block.args)
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

    def after_pass(self, step: PassStep) -> None:
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

            divergence = first_divergence(reference, difference, (good, context), (step.module, context))
        except SemanticsError as error:
            raise PassError(step, f"left a module whose results cannot be checked: {error}", op=error.op) from error
        note = Diagnostic("note", "flambeau bisect, with the same input and pipeline, finds the rewrite that does so")
        if divergence is None:
            raise PassError(step, f"changes the result: {difference}", notes=(note,))
        raise PassError(step, f"changes the result: {difference}; {divergence}", op=divergence.after.op, notes=(note,))


def _ours(context: Context) -> FlambeauContext:
    if not isinstance(context, FlambeauContext):
        raise SemanticsError("results can be checked only with a context that owns the module's weights")
    return context
