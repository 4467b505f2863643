"""Writes whole models as ONNX files, and compares what ONNX Runtime and their delegates compute of them with PyTorch.

    export PYTHONPATH=test:test/helpers:test/quantized:test/suite:examples/llm
    .venv/bin/python backends/onnxruntime/test/onnx_whole_models.py
    … onnx_whole_models.py --int8 mobilenet_v2 resnet18

A campaign, outside of the tests, which have small models; `make vendor-tools` installs ONNX Runtime, and the package onnx, which checks
each file in full and infers its types and shapes. It prints, for each model, the operators of the file, and how far its results, and those
of the delegates, are from PyTorch's: in floats in units of the largest number, in `--int8` in steps, of which results have 255, or in what
half a step of the inputs changes, if that is more. There, each quantization of the file is also compared alone, from PyTorch's integers
before it on: a network multiplies by its depth what one step at a tie makes. A model with states is called several times. The exit status
is 1 if a distance is above 1e-5, or above one step.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from device_models import CAMPAIGN
from language_model import Sizes, export_methods, make_model
from onnx_judge import onnxruntime
from onnx_quantizations import compare_alone
from torch_programs import seed
from vendor_tools import installed

from flambeau import quantize, to_edge
from flambeau.backends.onnxruntime.messages import read
from flambeau.runtime import Runtime

Calls = list[tuple[Any, ...]]
CACHED = "llama_cache"
MODELS = ("mobilenet_v2", "resnet18", "deit_tiny", "minilm_ids", "whisper_encoder", CACHED)
STEPS, FARTHEST = 255, 1e-5


def program_of(name: str, is_int8: bool) -> tuple[torch.export.ExportedProgram, Calls]:
    """Returns a program and what it is called with."""
    seed()
    if name == CACHED:
        sizes = Sizes(layers=4, vocabulary=1000, context=128)
        program = export_methods(make_model("llama", sizes), sizes)["decode"]
        return program, [(torch.randint(0, 1000, (1, 1)), torch.tensor([place])) for place in range(8)]
    module, inputs = CAMPAIGN[name]()
    with torch.no_grad():
        program = torch.export.export(module.eval(), inputs)
    if is_int8:
        samples = [tuple(item + 0.1 * torch.randn_like(item) if item.is_floating_point() else item for item in inputs) for _ in range(4)]
        program = quantize(program, samples, backend="onnxruntime").program
    return program, [inputs]


def unit(module: Any, call: tuple[Any, ...], expected: Any, is_int8: bool) -> float:
    """Returns the unit of distances: the largest number; of integers a step, or what half a step of the inputs changes."""
    if not is_int8:
        return float(np.abs(expected).max())
    step = float(expected.max() - expected.min()) / STEPS
    moved = [tuple(_moved(item) for item in call) for _ in range(4)]
    return max(step, *(float(np.abs(results_of(module, other) - expected).max()) for other in moved))


def _moved(item: torch.Tensor) -> torch.Tensor:
    return item + (torch.rand_like(item) - 0.5) * (item.max() - item.min()) / STEPS if item.is_floating_point() else item


def results_of(module: Any, call: tuple[Any, ...]) -> Any:
    """Returns PyTorch's result."""
    with torch.no_grad():
        return np.asarray(module(*call).double())


def farthest(found: Sequence[Any], expected: Sequence[Any], units: Sequence[float]) -> float:
    """Returns how far results are from those expected."""
    return max(float(np.abs(np.asarray(a, np.float64) - b).max()) / one for a, b, one in zip(found, expected, units, strict=True))


def judged(name: str, is_int8: bool, python: str) -> tuple[str, float]:
    """What is said of a model, and the farther of the two distances."""
    program, calls = program_of(name, is_int8)
    edge, module = to_edge(program), program.module()
    expected = [results_of(module, call) for call in calls]
    units = [unit(module, call, result, is_int8) for call, result in zip(calls, expected, strict=True)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        edge.save(path)
        data = path.read_bytes()
    states, files = list[Any](), list[Any]()
    for call in calls:
        result, *states = onnxruntime(python, 0).run(data, [*(item.numpy() for item in call), *states])
        files.append(result)
    library = next(Path(python).parents[1].glob("lib/python*/site-packages/onnxruntime/capi/libonnxruntime.*"))
    delegated = bytes(edge.to_backend("onnxruntime").to_executorch().buffer)
    method = Runtime.get().load_program(delegated, backend_options={"onnxruntime": {"library": str(library)}}).load_method("forward")
    runs = [np.array(method.execute([item.numpy() for item in call])[0]) for call in calls]
    distances = [farthest(found, expected, units) for found in (files, runs)]
    nodes = len(read(memoryview(data), name).graph.node)
    words = "steps" if is_int8 else "of the largest"
    said = f"{nodes} operators, {len(data):,} bytes, {len(method.metadata.backend_names)} backends; file {distances[0]:.1e}"
    said = f"{said}, delegates {distances[1]:.1e} {words}"
    if not is_int8 or states:
        return said, max(distances)
    alone = compare_alone(data, program, calls[0], onnxruntime(python, 0))
    return f"{said}; {alone}", max(*distances, alone.steps)


def main() -> int:
    """Prints a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--int8", action="store_true")
    options = parser.parse_args()
    python, status = installed("onnxruntime-test")[0], 0
    for name in options.models:
        said, distance = judged(name, options.int8, python)
        print(f"{name}: {said}", flush=True)
        status |= int(not distance <= (1 if options.int8 else FARTHEST))
    return status


if __name__ == "__main__":
    sys.exit(main())
