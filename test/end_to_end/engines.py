"""Models taken through every stage, and each stage's engine run on the same inputs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import numpy as np
import torch
from executorch import runtime as executorch_runtime
from models import SMALLER, Model
from xdsl.dialects.builtin import ModuleOp

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import STAGES
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

peer: Any = executorch_runtime
TOLERANCE = 1e-4
"""The largest difference between two engines, in units of the output's largest value (float32)."""


@dataclass
class Journey:
    """A model, its inputs and what PyTorch makes of them, and the module at each stage to a target."""

    target: str
    module: torch.nn.Module
    inputs: tuple[torch.Tensor, ...]
    expected: np.ndarray[Any, np.dtype[np.float32]]
    context: FlambeauContext
    stages: dict[str, ModuleOp] = field(default_factory=dict[str, ModuleOp])
    program: bytes = b""

    @property
    def arrays(self) -> list[Any]:
        """The inputs as numpy arrays."""
        return [tensor.numpy() for tensor in self.inputs]


def build(name: str) -> Model:
    """The model of that name, at the size of the tests."""
    return SMALLER[name]()


def travel(name: str, target: str) -> Journey:
    """Compiles a model stage by stage, keeping a copy of each."""
    module, inputs = build(name)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    context = FlambeauContext()
    journey = Journey(target, module, inputs, expected, context)
    compilation = Compilation(export_module(module, inputs, context), context, PipelineOptions(target=target))
    for stage in STAGES:
        compilation.to(stage)
        journey.stages[stage] = compilation.module.clone()
    journey.program = compilation.emit()
    return journey


def run_numpy(journey: Journey, stage: str) -> Any:
    """The numpy interpreter's output at a stage."""
    return interpret(journey.stages[stage], journey.context).run("forward", journey.arrays)[0]


def run_c(program: bytes, inputs: list[Any]) -> Any:
    """The C runtime's output."""
    return Runtime.get().load_program(program).load_method("forward").execute(inputs)[0]


def run_executorch(program: bytes, inputs: tuple[torch.Tensor, ...]) -> Any:
    """Stock ExecuTorch's output, with its strictest check of the program."""
    loaded = peer.Runtime.get().load_program(program, verification=peer.Verification.InternalConsistency)
    return cast(torch.Tensor, loaded.load_method("forward").execute(inputs)[0]).numpy()


def distance(actual: Any, expected: Any) -> float:
    """The largest difference in units of the largest expected value; infinite for another shape or NaN."""
    if actual.shape != expected.shape:
        return float("inf")
    largest = float(np.abs(actual - expected).max())
    return largest / float(np.abs(expected).max()) if largest == largest else float("inf")
