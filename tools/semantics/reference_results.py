"""The reference results of a module: the interpreter computes them on given or generated inputs, and later forms are compared with them.

`CheckSemantics` compares after each pass of a pipeline and stops at the first that changes a result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.flambeau.method_interface import inputs_of
from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import (
    FunctionProgram,
    InputKind,
    InterpreterError,
    Leaf,
    MethodProgram,
    Observer,
    UnsupportedError,
    generate_inputs,
    interpret,
)
from flambeau.runtime.interpreter.array_kinds import array_kind
from flambeau.support.lazy import Array, np
from flambeau.tools.semantics.result_comparison import NOT_FINITE, Rounding, SemanticsOptions, difference_of, noise_of


class SemanticsError(ValueError):
    """An error for a module whose results cannot be compared: the interpreter cannot run it, or its results are random."""

    def __init__(self, message: str, op: Operation | None = None):
        super().__init__(message)
        self.op = op
        self.diagnostic = Diagnostic("error", message, op=op)


_ORDINALS = ("first", "second", "third")


@dataclass(frozen=True)
class Difference:
    """The first result of a module that differs from the reference."""

    method: str
    call: int
    """The number of the call within the session, from 0."""
    output: int | None
    """The number of the method's output, from 0; None if the method fails or state differs."""
    detail: str
    """The difference, `max |Δ| 3.1e-02 of the scale 4.2, tolerance 1e-04`; or the failure."""
    op: Operation | None = None
    """The operation that fails."""
    state: str | None = None
    """The name of the mutable global that differs after the call; None if an output differs."""
    session: str = ""
    """The series of calls that share state: the name of the method, or IN_SEQUENCE."""

    @property
    def is_failure(self) -> bool:
        """Whether the method fails, so that there are no results."""
        return self.output is None and self.state is None

    @property
    def kind(self) -> str:
        """The kind of difference: no results, results that are not finite, or other results."""
        return "failure" if self.is_failure else "not finite" if self.detail.endswith(NOT_FINITE) else "results"

    def __str__(self) -> str:
        if not self.call:
            call = ""
        else:
            call = "a later call" if self.session == IN_SEQUENCE else f"the {_ORDINALS[min(self.call, 2)]} call"
        if self.is_failure:
            return f"@{self.method} fails{call and f' in {call}'}: {self.detail}"
        if self.state is not None:
            return f"the state @{self.state} after {call and f'{call} of '}@{self.method} differs: {self.detail}"
        return f"output {self.output} of @{self.method}{call and f' of {call}'} differs: {self.detail}"


class _RunError(SemanticsError):
    """An error of a form of the module that cannot run; its cause is the interpreter's error."""

    def __init__(self, message: str, failure: Difference):
        super().__init__(message, failure.op)
        self.failure = failure


Outputs = dict[str, list[list[Leaf]]]
"""By session, for each call, the leaves of the outputs and what the mutable globals hold afterwards."""

IN_SEQUENCE = "in sequence"
"""The session in which all methods are called one after the other, for state that one leaves to another."""

OPERATION_LIMIT = 200_000
"""Operations that one run of a method may execute: a module is run often, and a loop that a pass made endless shall show soon."""
_KINDS: tuple[InputKind, ...] = ("usual", "wide", "extreme")
NOISY_RUNS = 4
"""The number of runs with perturbed inputs. In at least one of them, each element should move nearly as far as rounding can move it."""


class Reference:
    """The results of a module on some inputs.

    Each method that is not private is called once or, with made-up inputs, three times: with usual, wide and extreme inputs, where it can
    run on them. State starts afresh for each method, and its content after a call is a result too; if there are several methods
    and state, they are called in sequence too. Functions that a method calls run as part of it.
    """

    def __init__(self, module: ModuleOp, context: FlambeauContext, options: SemanticsOptions | None = None):
        """Runs the module. Raises SemanticsError when the interpreter cannot, or its results are random."""
        self.options = options or SemanticsOptions()
        self.runs = 0
        """The number of times that the interpreter ran a form of the module."""
        self._context = context
        self._module = module.clone()
        self._noise: dict[str, list[Outputs]] = {}
        for op in module.walk():
            if _is_random(op):
                raise SemanticsError(f"{operator_name(op)} gives random numbers: the results of two runs cannot be compared", op)
        self.states = [op.sym_name.data for op in module.body.block.ops if isinstance(op, GlobalOp) and op.is_mutable is not None]
        """The mutable globals."""
        # Some mistakes show only beyond the bend of an activation, below 0, or where exponentials overflow; state, in a second call.
        self._kinds = list(_KINDS if self.options.inputs is None else _KINDS[:1] * (2 if self.states else 1))
        while True:
            try:
                self.inputs = self._all_inputs(module)
                self.outputs = self.run(module)
                break
            except _RunError as error:
                call = error.failure.call
                kind = self._kinds[call // len(self.inputs) if error.failure.session == IN_SEQUENCE else call]
                if kind == "usual" or isinstance(error.__cause__, UnsupportedError):
                    raise
                # Integers may number something in a way that the interface does not show.
                self._kinds.remove(kind)
                if self.states and len(self._kinds) == 1:
                    self._kinds.append("usual")

    def _all_inputs(self, module: ModuleOp) -> dict[str, list[list[Leaf]]]:
        try:
            inputs = {
                method.sym_name.data: [inputs_for(method, self._context, self.options, call, kind) for call, kind in enumerate(self._kinds)]
                for method in module.body.block.ops
                if isinstance(method, FuncOp | MethodOp) and _is_called(method)
            }
        except InterpreterError as error:
            raise SemanticsError(str(error), error.op) from error
        if not inputs:
            raise SemanticsError("the module has no function or method to run that is not private")
        return inputs

    def _sessions(self, program: FunctionProgram | MethodProgram) -> Iterator[tuple[str, list[tuple[str, list[Leaf]]]]]:
        """Yields the calls of methods that share state."""
        for name, calls in self.inputs.items():
            yield name, [(name, inputs) for inputs in calls]
        # The state of a planned method is its own.
        if self.states and len(self.inputs) > 1 and isinstance(program, FunctionProgram):
            usual = range(sum(kind != "extreme" for kind in self._kinds))
            yield IN_SEQUENCE, [(name, calls[index]) for index in usual for name, calls in self.inputs.items()]

    def run(
        self, module: ModuleOp, context: FlambeauContext | None = None, observers: Mapping[tuple[str, int], Observer] | None = None
    ) -> Outputs:
        """Returns the outputs of a form of the module. Raises SemanticsError.

        Args:
            module: the module, or a later form of it.
            context: owns the weights; by default the context of the reference.
            observers: by session and call, an observer of the result of each operation.
        """
        return self._run(module, context or self._context, observers or {})

    def _run(
        self,
        module: ModuleOp,
        context: FlambeauContext,
        observers: Mapping[tuple[str, int], Observer],
        rounding: Rounding | None = None,
        only: str | None = None,
    ) -> Outputs:
        outputs: Outputs = {}
        self.runs += 1
        for session, calls in self._sessions(interpret(module, context)):
            if only not in (None, session):
                continue
            outputs[session] = []
            name = session
            try:
                program = interpret(module, context, run_payload, OPERATION_LIMIT)
                for call, (name, given) in enumerate(calls):
                    inputs = given if rounding is None else [rounding.moved(leaf) for leaf in given]
                    observer = observers.get((session, call)) if rounding is None else rounding.observe
                    written = program.written_inputs(name)
                    inputs = [leaf.copy() if i in written and isinstance(leaf, np.ndarray) else leaf for i, leaf in enumerate(inputs)]
                    found = program.run(name, inputs, observer) + [inputs[index] for index in written]
                    outputs[session].append([*found, *(program.state(name, state) for state in self.states)])
            except (ValueError, TypeError, MemoryError) as error:
                op = error.op if isinstance(error, InterpreterError) else None
                failure = Difference(name, len(outputs[session]), None, str(error), op, session=session)
                raise _RunError(f"@{name} cannot be run: {error}", failure) from error
        return outputs

    def difference(self, module: ModuleOp, context: FlambeauContext | None = None) -> Difference | None:
        """Returns the first output of a form of the module that differs from the reference.

        Raises SemanticsError if nothing is comparable.
        """
        try:
            outputs = self.run(module, context)
        except _RunError as error:
            if isinstance(error.__cause__, UnsupportedError):
                raise
            return error.failure
        methods = list(self.inputs)
        for session, calls in self.outputs.items():
            for call, (expected, found) in enumerate(zip(calls, outputs.get(session, ()), strict=False)):
                name = methods[call % len(methods)] if session == IN_SEQUENCE else session
                if len(expected) != len(found):
                    counts = [len(leaves) - len(self.states) for leaves in (found, expected)]
                    return Difference(name, call, 0, f"there are {counts[0]} outputs instead of {counts[1]}", session=session)
                for index, (a, b) in enumerate(zip(expected, found, strict=True)):
                    state = index - len(expected) + len(self.states)
                    if state >= 0 and (a is None or (b is None and not self._ever_changes(state))):
                        continue
                    if (detail := self._detail(session, call, index, b)) is not None:
                        named = (index, None) if state < 0 else (None, self.states[state])
                        detail = "it is gone" if state >= 0 and b is None else detail
                        return Difference(name, call, named[0], detail, state=named[1], session=session)
        return None

    def is_extreme(self, session: str, call: int) -> bool:
        """Returns whether the inputs of a call are extreme, so that only finite results are compared."""
        return session != IN_SEQUENCE and self._kinds[call] == "extreme"

    def _detail(self, session: str, call: int, index: int, found: Leaf) -> str | None:
        """Returns a description of the difference of one output of a call."""
        expected, finite_only = self.outputs[session][call][index], self.is_extreme(session, call)
        detail = difference_of(expected, found, self.options, finite_only=finite_only)
        if detail is None:
            return None
        # Computed only for a difference, because it needs further runs.
        noise = noise_of(expected, [run[session][call][index] for run in self._noisy_runs(session)])
        return difference_of(expected, found, self.options, noise=noise, finite_only=finite_only)

    def _noisy_runs(self, session: str) -> list[Outputs]:
        """Returns the results of the reference with every number perturbed as far as rounding may."""
        if session not in self._noise:
            self._noise[session] = []
            for seed in range(NOISY_RUNS):
                try:
                    self._noise[session].append(self._run(self._module, self._context, {}, Rounding(seed), session))
                except SemanticsError:  # an index that is computed from floats
                    continue
        return self._noise[session]

    def _ever_changes(self, state: int) -> bool:
        """Returns whether any call changes a mutable global; one that no call changes may be removed."""
        values = [leaves[state - len(self.states)] for calls in self.outputs.values() for leaves in calls]
        initial = interpret(self._module, self._context).state(next(iter(self.inputs)), self.states[state])
        return any(difference_of(initial, value, self.options) is not None for value in values)


def inputs_for(
    method: FuncOp | MethodOp, context: FlambeauContext, options: SemanticsOptions, call: int = 0, kind: InputKind = "usual"
) -> list[Leaf]:
    """Returns the inputs of one call of a method: given by the options, brought by the program, or generated.

    Raises:
        InterpreterError: the options lack one of them, or none can be generated.
    """
    made_up = generate_inputs(method, options.seed + call, kind)
    given = options.inputs
    stored = given if given is not None else context.examples if kind == "usual" else {}
    leaves: list[Leaf] = []
    for index, ((name, value), leaf) in enumerate(zip(_inputs(method), made_up, strict=True)):
        if value is None or not isinstance(leaf, np.ndarray):
            leaves.append(leaf)
            continue
        names = [name] if value.name_hint is None else [name, value.name_hint]
        keys = (*(f"{method.sym_name.data}.{name}" for name in names), *names, f"arr_{index}")
        found = next((stored[key] for key in keys if key in stored), None)
        if found is None and given is None:
            found = leaf
        if found is None:
            there = ", ".join(stored) or "nothing"
            raise InterpreterError(f"there is no input {names[-1]!r} for @{method.sym_name.data} among the stored ones ({there})")
        if given is not None:
            _check_kind(found, value.type, name)
        leaves.append(found)
    return leaves


def _check_kind(found: Array, kind: Attribute, name: str) -> None:
    """Raises InterpreterError for an array that is not of the type of an input."""
    shape, dtype = array_kind(kind)
    if found.dtype != dtype:
        raise InterpreterError(f"input {name!r} must be {dtype}, got {found.dtype}")
    if found.ndim != len(shape) or any(is_known(size) and size != there for size, there in zip(shape, found.shape, strict=True)):
        sizes = ", ".join(str(size) if is_known(size) else "?" for size in shape)
        raise InterpreterError(f"input {name!r} must have the shape [{sizes}], got {list(found.shape)}")


def operator_name(op: Operation) -> str:
    """Returns the name of the computation: an instruction's kernel, else the operation's name."""
    return op.operator.data if isinstance(op, CallOp) else op.name


def _is_random(op: Operation) -> bool:
    if isinstance(op, CallOp):
        kernel = row_kernels().get(op.operator.data)
        return kernel is not None and kernel.row.random
    return isinstance(op, SchemaOp) and op.draws()


def _is_called(method: FuncOp | MethodOp) -> bool:
    """Returns whether a method has a body and may be called from outside."""
    if isinstance(method, MethodOp):
        return True
    private = method.sym_visibility is not None and method.sym_visibility.data == "private"
    return not private and not method.is_declaration


def _inputs(method: FuncOp | MethodOp) -> list[tuple[str, SSAValue | None]]:
    """Returns the name of each input in the model, and its value; None for a constant."""
    if isinstance(method, FuncOp):
        arguments = iter(method.body.blocks[0].args)
        return [(leaf.name, next(arguments) if leaf.is_tensor else None) for leaf in inputs_of(method)]
    names = [name.data for name in method.input_names or ()]
    slots = method.terminator.inputs
    names += [f"input_{index}" for index in range(len(names), len(slots))]
    return list(zip(names, slots, strict=True))
