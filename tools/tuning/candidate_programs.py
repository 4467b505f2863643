"""A model's program with some choices, and the least times of its instructions of many runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter_ns
from typing import Any

import numpy as np
from xdsl.dialects.builtin import ModuleOp, TensorType

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.memory_report import methods_of
from flambeau.compiler.stages import StageError
from flambeau.dialects.aten.layers.convolution import ConvolutionOp
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.literals import literal_value
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.fused.conv2d import FusedConv2dOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.tuning.choices import candidates, convolution_name
from flambeau.passes.tuning.table import Entry, Place, TuningTable
from flambeau.runtime import Event, EventKind, Method, Runtime
from flambeau.runtime.interpreter.inputs import generate_inputs
from flambeau.support.suggestions import did_you_mean

RUNS = 3
"""The runs of a program before it is the turn of the next one: the first of them finds little of its weights in caches."""

Step = tuple[int, int]
"""The numbers of the chain and of the instruction."""


@dataclass(frozen=True)
class Convolution:
    """A convolution among the instructions of a program.

    Attributes:
        operator: its name in tables of choices.
        choices: those that make a difference for it; the only one, if it is not in its packed form.
    """

    operator: str
    choices: tuple[str, ...]


@dataclass
class Candidate:
    """A compiled program.

    Attributes:
        convolutions: those that can be named, by the place of the instruction.
        method: the loaded method.
        inputs: makes the inputs of a run.
        least: the nanoseconds of the fastest run of each instruction.
        whole: the nanoseconds of the fastest run without a record.
    """

    convolutions: Mapping[Step, Convolution]
    method: Method
    inputs: Callable[[], Sequence[Any]]
    least: dict[Step, int] = field(default_factory=dict[Step, int])
    whole: int | None = None

    def seconds(self) -> dict[str, float]:
        """Returns the seconds that each operator takes, the mean of those of one name."""
        steps = self.steps()
        return {name: sum(self.least.get(step, 0) for step in found) / len(found) / 1e9 for name, found in steps.items()}

    def steps(self) -> dict[str, list[Step]]:
        """Returns the instructions of each operator, by its name."""
        found: dict[str, list[Step]] = {}
        for step, convolution in self.convolutions.items():
            found.setdefault(convolution.operator, []).append(step)
        return found

    def total(self) -> float:
        """Returns the seconds of all instructions."""
        return sum(self.least.values()) / 1e9

    def observe(self) -> None:
        """Runs the program RUNS times, and keeps the least times of its instructions."""
        room = 2 * max(len(self.least), 1 << 10) * RUNS
        with self.method.record_events(capacity=room) as recording:
            for _ in range(RUNS):
                self.method.execute(self.inputs())
        for step, time in _times(recording.events).items():
            self.least[step] = min(self.least.get(step, time), time)

    def run(self) -> None:
        """Runs the program RUNS times, and keeps the least time."""
        for _ in range(RUNS):
            inputs = self.inputs()
            start = perf_counter_ns()
            self.method.execute(inputs)
            time = perf_counter_ns() - start
            self.whole = time if self.whole is None else min(self.whole, time)


def _times(events: Sequence[Event]) -> dict[Step, int]:
    """Returns the least nanoseconds of one run of each instruction, which may be executed several times in a run."""
    runs: list[dict[Step, int]] = []
    for event in events:
        if event.kind is EventKind.EXECUTE:
            runs.append({})
        elif event.kind is not EventKind.OPERATOR:
            step = (event.chain or 0, event.instruction or 0)
            runs[-1][step] = runs[-1].get(step, 0) + event.nanoseconds
    return {step: min(run.get(step, 0) for run in runs) for step in {step for run in runs for step in run}}


@dataclass(frozen=True)
class Builder:
    """Compiles a model with choices.

    Attributes:
        module: the model, at a stage before its operators are fused.
        context: owns its weights.
        options: of the pipeline.
        method: the name of the method that is measured.
        runtime: computes with so many threads.
    """

    module: ModuleOp
    context: FlambeauContext
    options: PipelineOptions
    method: str
    runtime: Runtime

    def build(self, choices: Mapping[str, str]) -> Candidate:
        """Compiles the model and loads its program. Raises StageError, PassError, FlambeauError."""
        with TemporaryDirectory() as folder:
            path = Path(folder) / "choices.json"
            isa, threads = self.options.isa, self.options.threads
            TuningTable({Place(isa, threads, operator): Entry(choice) for operator, choice in choices.items()}).write(path)
            compilation = Compilation(self.module.clone(), self.context, replace(self.options, tuning=str(path)))
            data = compilation.emit()
        methods = methods_of(compilation.module)
        if self.method not in methods:
            near = did_you_mean(self.method, methods)
            raise StageError(f"there is no method {self.method!r}{near}; --method names one of {', '.join(methods)}")
        method = methods[self.method]
        given = generate_inputs(method, seed=0)
        loaded = self.runtime.load_program(data).load_method(self.method)
        return Candidate(
            convolutions_of(method), loaded, lambda: [value.copy() if isinstance(value, np.ndarray) else value for value in given]
        )


def convolutions_of(method: MethodOp) -> dict[Step, Convolution]:
    """Returns the convolutions among the instructions of a method that have a name."""
    found: dict[Step, Convolution] = {}
    for number, op in enumerate(method.steps):
        kernel = row_kernels().get(op.operator.data) if isinstance(op, CallOp) else None
        if kernel is None or not issubclass(kernel.row, FusedConv2dOp | ConvolutionOp):
            continue
        assert isinstance(op, CallOp)
        arguments: list[Any] = [slot if isinstance(slot.type, TensorType) else literal_value(slot) for slot in op.ins]
        if issubclass(kernel.row, FusedConv2dOp):
            x, _, _, _, kernel_size, stride, padding, dilation, groups, out_channels, *_ = arguments
            weight = (out_channels, shape_of(x)[1] // groups, *kernel_size)
            choices = candidates(weight, stride, dilation, groups)
        else:
            x, filters, _, stride, padding, dilation, transposed, _, groups = arguments
            weight, choices = shape_of(filters), ()
            if transposed or len(weight) != 4:
                continue
            stride, padding, dilation = ((values[0], values[-1]) for values in (stride, padding, dilation))
        name = convolution_name(x, weight, stride, padding, dilation, groups)
        if name is not None:
            found[0, number] = Convolution(name, choices)
    return found
