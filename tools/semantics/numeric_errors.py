"""Distances between the values of two stages, operator by operator, and the first wrong value."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from typing import Any

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from flambeau.compiler.etrecord import event_of
from flambeau.compiler.program_profile import UNKNOWN_PLACE, line_of, module_of
from flambeau.compiler.stages import stage_of
from flambeau.dialects.exec.instructions import CallOp, DelegateCallOp
from flambeau.dialects.exec.literals import TensorListOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.ir.locations import describe_location
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.interface import require_torch
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.emit import emit_pte
from flambeau.runtime.emit.places import to_frames
from flambeau.runtime.etdump import ETDump
from flambeau.runtime.inspector import logged_calls
from flambeau.runtime.interpreter import InterpreterError, Leaf, interpret
from flambeau.support.lazy import Array, np
from flambeau.tools.semantics.computed_values import Computed, ValueRecorder, counterparts, results_of
from flambeau.tools.semantics.reference_results import NOISY_RUNS, SemanticsError, operator_name
from flambeau.tools.semantics.result_comparison import Rounding, SemanticsOptions, difference_of, noise_of

EAGER = "eager"
"""The name of PyTorch's results, operator by operator."""

DEVICE = "device"
"""The name of the C runtime's results on this machine."""


@dataclass(frozen=True)
class OperatorError:
    """The error of one value.

    Attributes:
        operator: the operator that computed it.
        value: the name of the value, or an empty text.
        before: the operator that computed it in the reference.
        place: the module of the model and the line, as text; empty if they are not known.
        module: the path of the module; of several modules that of the module which contains them.
        line: `model.py:12`, the first of several lines.
        difference: the greatest absolute difference of an element; infinite if only one of two elements is finite.
        scale: the greatest finite expected number.
        detail: why the value is wrong, in words; None for a value within the tolerance of its dtype and rounding.
        op: the operation that computed it.
    """

    operator: str
    value: str | None
    before: str
    place: str
    module: str | None
    line: str | None
    difference: float
    scale: float
    detail: str | None
    op: Operation

    def data(self) -> dict[str, Any]:
        """Returns the error as JSON, without numbers that are not finite."""
        found = {field.name: getattr(self, field.name) for field in fields(self) if field.name != "op"}
        finite = math.isfinite(self.difference)
        return found | {"difference": self.difference if finite else None, "relative": self.relative if finite else None}

    @property
    def relative(self) -> float:
        """The difference in relation to the scale."""
        return self.difference / self.scale if self.scale else self.difference

    def __str__(self) -> str:
        by = self.operator if self.operator == self.before else f"{self.operator} ({self.before} before)"
        return f"{by}{f' at {self.place}' if self.place else ''}{f', %{self.value}' if self.value else ''}"


@dataclass(frozen=True)
class Numerics:
    """The errors of the values that both forms compute, in order of execution, and the operators of all others that the stage computes."""

    errors: tuple[OperatorError, ...]
    alone: tuple[str, ...]

    @property
    def unmatched(self) -> int:
        """The number of values without a counterpart."""
        return len(self.alone)

    @property
    def first_bad(self) -> OperatorError | None:
        """The first wrong value; later values may be wrong only because of it."""
        return next((error for error in self.errors if error.detail is not None), None)


def run_stage(
    module: ModuleOp, context: FlambeauContext, method: str, inputs: Sequence[Leaf], rounding: Rounding | None = None
) -> list[Computed]:
    """Returns every value that a method computes with numpy, at any stage. Raises SemanticsError."""
    recorder = ValueRecorder(rounding)
    try:
        program = interpret(module, context, run_payload)
        written = program.written_inputs(method)
        own = [leaf.copy() if index in written and isinstance(leaf, np.ndarray) else leaf for index, leaf in enumerate(inputs)]
        program.run(method, own if rounding is None else [rounding.moved(leaf) for leaf in own], recorder.observe)
    except (ValueError, TypeError, MemoryError) as error:
        op = error.op if isinstance(error, InterpreterError) else None
        raise SemanticsError(f"@{method} cannot be run: {error}", op) from error
    return recorder.values


def usual_reference(module: ModuleOp, method: str) -> str:
    """Returns EAGER for a method that PyTorch can run operator by operator, else the stage of the module, as for control flow."""
    stage = stage_of(module)
    if stage not in ("aten", "core"):
        return stage
    require_torch("what PyTorch computes")
    from flambeau.frontends.torch_export.evaluate import can_run

    function = method_of(module, method)
    return EAGER if isinstance(function, FuncOp) and can_run(function) else stage


def run_eager(module: ModuleOp, context: FlambeauContext, method: str, inputs: Sequence[Leaf]) -> list[Computed]:
    """Returns every value that PyTorch computes for a method at the aten or core stage. Raises EvaluationError if it cannot run."""
    require_torch("a comparison with PyTorch")
    from flambeau.frontends.torch_export.evaluate import run_leaves
    from flambeau.runtime.bundled_program.bundled_values import to_array

    recorder = ValueRecorder()

    def observe(op: Operation, tensors: Sequence[object]) -> None:
        recorder.observe(op, [to_array(tensor, op.name) for tensor in tensors])

    run_leaves(module, context, [leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in inputs], method, observe)
    return recorder.values


def run_device(module: ModuleOp, context: FlambeauContext, method: str, inputs: Sequence[Leaf]) -> list[Computed]:
    """Returns every value that the kernels and delegates of the C runtime compute for a method at the planned stage.

    Raises FlambeauError.
    """
    from flambeau.runtime import Runtime

    # Emitting may note memory in the module, whose operations are those of the result.
    loaded = Runtime.get().load_program(b"".join(emit_pte(module, context))).load_method(method)
    with loaded.observe_values() as observation:
        loaded.execute([leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in inputs])
    if observation.error is not None:
        raise SemanticsError(f"@{method}: its results cannot be read: {observation.error}") from observation.error
    found = method_of(module, method)
    assert isinstance(found, MethodOp)
    steps = found.steps
    recorder = ValueRecorder()
    for call in observation.calls:
        op = steps[call.position]
        assert isinstance(op, CallOp | DelegateCallOp)
        arguments = op.arguments if isinstance(op, CallOp) else (*op.ins, *op.outs)
        values: dict[SSAValue, Array] = {}
        for slot, argument in zip(arguments, call.arguments, strict=True):
            slots = slot.owner.items if isinstance(slot.owner, TensorListOp) else (slot,)
            items = argument if isinstance(argument, list) else (argument,)
            values |= {slot: item for slot, item in zip(slots, items, strict=False) if item is not None}
        recorder.observe(op, [values[slot] for slot in results_of(op) if slot in values])
    return recorder.values


def read_log(module: ModuleOp, method: str, dump: ETDump, buffer: bytes) -> list[Computed]:
    """Returns every value that an ETDump logs of the first run of a method at the planned stage.

    Args:
        module: the planned module of the program that ran.
        method: the method that ran.
        dump: the ETDump.
        buffer: its debug buffer.
    """
    found = method_of(module, method)
    assert isinstance(found, MethodOp)
    runs = [calls for run in dump.run_data if (calls := logged_calls(run, buffer))]
    if not runs:
        raise SemanticsError("the ETDump has no values: load the program with enable_etdump=True and debug_buffer_size=BYTES")
    steps = found.steps
    recorder = ValueRecorder()
    for call in runs[0]:
        op = steps[call.instruction] if 0 <= call.instruction < len(steps) else None
        there = event_of(op) if isinstance(op, CallOp | DelegateCallOp) else "no call"
        if op is None or there != call.name or call.chain:
            what = f"instruction {call.instruction} is {call.name} there and {there} here"
            raise SemanticsError(f"the ETDump is of another program: {what}; give the same model, --target and --backend")
        recorder.observe(op, call.values[len(call.values) - len(results_of(op)) :])
    return recorder.values


def compare_values(
    reference: Sequence[Computed], stage: Sequence[Computed], options: SemanticsOptions, noise_for: Callable[[Computed], Array | None]
) -> Numerics:
    """Returns the error of each value of a stage that has a counterpart in the reference.

    Args:
        reference: the values of the reference.
        stage: the values of the stage.
        options: the tolerance.
        noise_for: returns how far rounding moves each element of a reference value; called only for values that differ.
    """
    same = _pairs(reference, stage)
    errors: list[OperatorError] = []
    alone: list[str] = []
    for item in stage:
        if not item.op.operands:
            continue
        if (before := same.get(item)) is None:
            alone.append(operator_name(item.op))
            continue
        detail = difference_of(before.array, item.array, options)
        if detail is not None:
            detail = difference_of(before.array, item.array, options, noise=noise_for(before))
        errors.append(_error(before, item, detail))
    return Numerics(tuple(errors), tuple(alone))


def _pairs(reference: Sequence[Computed], stage: Sequence[Computed]) -> dict[Computed, Computed]:
    """Returns the counterparts in the reference for the values of a stage."""
    pairs: dict[Computed, Computed] = {}
    for item, candidates in counterparts(reference, stage).items():
        # A fused operation has the location of one of its parts, and the name of the last.
        named = [before for before in candidates if None in (before.value.name_hint, item.value.name_hint) or _name(before) == _name(item)]
        if named:
            # Among values with the same location, the nearest is the counterpart.
            pairs[item] = min(named, key=lambda before: distance(before.array, item.array)[0])
    # Layers repeat names, in the order of execution.
    taken = set(pairs.values())
    earlier, later = _by_name(item for item in reference if item not in taken), _by_name(item for item in stage if item not in pairs)
    for name, items in later.items():
        if len(items) == len(before := earlier.get(name, ())):
            pairs |= zip(items, before, strict=True)
    return pairs


def _name(item: Computed) -> tuple[object, ...]:
    return item.value.name_hint, item.array.dtype, item.array.shape


def _by_name(items: Iterable[Computed]) -> dict[tuple[object, ...], list[Computed]]:
    found: dict[tuple[object, ...], list[Computed]] = {}
    for item in items:
        if item.value.name_hint is not None:
            found.setdefault(_name(item), []).append(item)
    return found


def rounding_noise(module: ModuleOp, context: FlambeauContext, method: str, inputs: Sequence[Leaf]) -> Callable[[Computed], Array | None]:
    """Returns a function that tells how far rounding moves a value of a module; the module runs at the first call."""
    runs: list[dict[tuple[object, int], Array]] = []

    def noise_for(item: Computed) -> Array | None:
        if not runs:
            for rounding in (None, *map(Rounding, range(NOISY_RUNS))):
                values = run_stage(module, context, method, inputs, rounding)
                runs.append({(computed.value, computed.time): computed.array for computed in values})
        exact, *moved = [run[key] for run in runs if (key := (item.value, item.time)) in run] or [None]
        return None if exact is None else noise_of(exact, moved)

    return noise_for


def distance(expected: Array, found: Array) -> tuple[float, float]:
    """Returns the greatest difference of an element, and the greatest finite expected number."""
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = expected.astype(wide), found.astype(wide)
    with np.errstate(all="ignore"):
        delta = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    return float(np.where(np.isnan(delta), np.inf, delta).max(initial=0.0)), scale


def _error(before: Computed, item: Computed, detail: str | None) -> OperatorError:
    location = item.op.location
    frames = to_frames(location).items
    module, line = (None if found == UNKNOWN_PLACE else found for found in (module_of(frames), line_of(frames)))
    difference, scale = distance(before.array, item.array)
    return OperatorError(
        operator=operator_name(item.op),
        value=item.value.name_hint,
        before=operator_name(before.op),
        place=describe_location(location),
        module=module,
        line=line,
        difference=difference,
        scale=scale,
        detail=detail,
        op=item.op,
    )


def method_of(module: ModuleOp, name: str) -> FuncOp | MethodOp:
    """Returns a method of a module. Raises SemanticsError."""
    methods = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, FuncOp | MethodOp)}
    if name not in methods:
        raise SemanticsError(f"there is no method {name!r}; there are {', '.join(methods) or 'none'}")
    return methods[name]
