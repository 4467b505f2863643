"""Gives TFLite files of whole programs to the readers that are installed: LiteRT by its names, TFLM, the package `tflite`, OpenVINO, Vela.

    PYTHONPATH=test:test/helpers:test/quantized:test/suite:backends/litert/test .venv/bin/python test/campaigns/readers_of_tflite_files.py

A campaign, outside of the tests; `make vendor-tools` installs all but OpenVINO, which is `pip install '.[openvino]'`. It prints what each
reader says of each file, of each model in floats and in int8, or of those that are named. The exit status is 1 if one refuses a file, or if
LiteRT's reference kernels or TFLM compute other numbers than numpy. Where floats stand between integers, the last bit of one may move an
integer by a step: such a file may be twice as far from the reference kernels as LiteRT's default kernels are. OpenVINO computes with
integers in its own way, so that its distance is only printed; so is an operator that TFLM has not. TFLM rounds fully connected layers
of int8 in another way than LiteRT (`findings/tflm_rounding_of_a_layer.sh`), so that its integers may be a step away.
"""

from __future__ import annotations

import importlib
import importlib.util
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from litert_files import decoded_results, file_of
from litert_judge import litert
from models_in_litert import MODELS
from payload_judges import Judge
from tflm_judge import tflm
from torch_programs import seed
from vendor_tools import installed

from flambeau import quantize, to_edge
from flambeau.backends.litert.payload import OPERATORS, read
from flambeau.support.lazy import Array

STEPS = {"float32": 1e-5, "int8": 1 / 127}
"""How far TFLM's results may be from numpy's, as a part of the largest: of integers, a step."""
Reader = Callable[[Path, Sequence[Array], Sequence[Array]], str]
"""Says in words what a reader made of a file, given inputs and numpy's results. Raises RuntimeError."""
_TFLITE = """
import sys
import tflite
model = tflite.Model.GetRootAs(open(sys.argv[1], "rb").read(), 0)
graph = model.Subgraphs(0)
print(f"{graph.OperatorsLength()} operators, {graph.TensorsLength()} tensors, {model.SignatureDefsLength()} signatures")
"""
_SIGNATURE = """
import sys
from ai_edge_litert.interpreter import Interpreter
run = Interpreter(model_path=sys.argv[1]).get_signature_runner()
print(f"signature of {', '.join(run.get_input_details())} to {', '.join(run.get_output_details())}")
"""


def _said(*command: str | Path) -> str:
    """Returns the last line that a program prints. Raises RuntimeError where it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    lines = (done.stdout.strip() or done.stderr.strip()).splitlines() or [""]
    if done.returncode:
        raise RuntimeError(lines[-1])
    return lines[-1]


def _distance(found: Sequence[Array], expected: Sequence[Array]) -> float:
    """Returns how far results are from numpy's, relative to the largest."""
    return max(float(np.abs(a.astype(float) - b).max() / max(np.abs(b).max(), 1e-9)) for a, b in zip(found, expected, strict=True))


def _has_floats_inside(data: bytes) -> bool:
    """Returns whether a file makes floats of integers elsewhere than at its outputs."""
    model = read(memoryview(data), "the file")
    (graph,) = model.subgraphs
    codes = [model.operator_codes[operator.opcode_index].builtin_code for operator in graph.operators]
    return codes.count(OPERATORS["dequantize"]) > len(graph.outputs)


def _judged(judge: Judge, other: Judge | None = None, near: float = 1e-5) -> Reader:
    """Returns a runtime with the arithmetic of the rows, as a reader, which raises RuntimeError for other results than numpy's.

    `near` is how far results may be away, as a part of the largest. `other` is the same runtime with other kernels: of files with floats
    between integers, numpy may be twice as far as these are.
    """

    def judge_file(path: Path, inputs: Sequence[Array], expected: Sequence[Array]) -> str:
        data = path.read_bytes()
        try:
            found = judge.run(data, inputs)
        except RuntimeError as error:
            if lacking := re.search(r"Didn't find op for builtin opcode '(\w+)'", str(error)):
                return f"has no {lacking[1]}"
            raise
        distance = _distance(found, expected)
        if distance == 0:
            return "the same bits"
        if distance <= near:
            return f"within {distance:.1e} of the largest"
        usual = 0 if other is None or not _has_floats_inside(data) else _distance(other.run(data, inputs), found)
        if distance > 2 * usual:
            raise RuntimeError(f"its results differ by {distance:.1e} of the largest, those of its other kernels by {usual:.1e}")
        return f"within {distance:.1e} of the largest, its other kernels {usual:.1e}"

    return judge_file


def _reader(python: str, code: str) -> Reader:
    """Returns a script that prints a line about a file, as a reader."""
    return lambda path, inputs, expected: _said(python, "-c", code, path)


def _openvino(path: Path, inputs: Sequence[Array], expected: Sequence[Array]) -> str:
    library: Any = importlib.import_module("openvino")
    model = library.Core().compile_model(str(path), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = model(list(inputs))
    distance = _distance([found[port] for port in model.outputs], expected)
    return f"ports {[port.any_name for port in model.inputs]}, within {distance:.1e} of the largest"


def _vela(program: str) -> Reader:
    def compiled(path: Path, inputs: Sequence[Array], expected: Sequence[Array]) -> str:
        command = [program, path, "--accelerator-config", "ethos-u55-128", "--output-dir", path.parent]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        lines = [line.strip() for line in done.stdout.splitlines() if "operators = " in line]
        if done.returncode or not lines:
            raise RuntimeError((done.stderr or done.stdout).strip()[-200:])
        return "; ".join(lines)

    return compiled


def readers(kind: str) -> dict[str, Reader]:
    """Returns the readers of files of a kind of numbers that are installed, by name."""
    found: dict[str, Reader] = {}
    for python in installed("litert-test"):
        found["LiteRT"] = _judged(litert(python), litert(python, "default"))
        found["LiteRT's names"] = _reader(python, _SIGNATURE)
        found["TFLM"], found["tflite"] = _judged(tflm(python), near=STEPS[kind]), _reader(python, _TFLITE)
    if importlib.util.find_spec("openvino") is not None:
        found["OpenVINO"] = _openvino
    for program in installed("ethos_u", "vela") if kind == "int8" else ():  # its processors have integers only
        found["Vela"] = _vela(program)
    return found


def main() -> int:
    """Prints a line for each file and reader; 1 if one fails."""
    wrong, found = 0, {kind: readers(kind) for kind in STEPS}
    with TemporaryDirectory() as folder:
        for name, kind in product(sys.argv[1:] or MODELS, STEPS):
            seed()
            module, inputs = MODELS[name]()
            floats = torch.export.export(module.eval(), inputs)
            program = quantize((module, inputs), [inputs] * 2, "int8", "litert").program if kind == "int8" else floats
            data = file_of(to_edge(program))
            path, arrays = Path(folder) / "model.tflite", [item.numpy() for item in inputs]
            path.write_bytes(data)
            expected = decoded_results(data, arrays)
            for reader, judge_file in found[kind].items():
                try:
                    said = judge_file(path, arrays, expected)
                except RuntimeError as error:
                    said, wrong = f"FAILS: {error}", wrong + 1
                print(f"{name} {kind}, {len(data)} bytes, {reader}: {said}", flush=True)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
