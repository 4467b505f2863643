"""Runs networks in TFLM, and compares the arena of the plan in a file with that of TFLM's own planner.

    PYTHONPATH=test:test/helpers:test/quantized:test/suite .venv/bin/python backends/litert/test/tflm_judge.py

A campaign, outside of the tests; `make vendor-tools` installs TFLM. For each network in int8 it prints the bytes of the file, those of the
arena of activations with the plan of the file and without it, and the elements of the results that are not those of numpy. The exit status
is 1 if an element differs, or a plan is worse than TFLM's.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
from device_models import WHOLE, Floats
from digits import digits, trained_cnn
from litert_files import PLAN, decoded_results, file_of
from payload_judges import Judge
from rich.console import Console
from rich.table import Table
from torch_programs import seed
from vendor_tools import installed

from flambeau import quantize, to_edge

_RUN = """
from tflite_micro import runtime

def run(data, arrays):
    model = runtime.Interpreter.from_bytes(data, arena_size=1 << 28)  # the default, ten times the bytes of the model, is not enough for all
    for number, array in enumerate(arrays):
        model.set_input(array, number)
    model.invoke()
    return [model.get_output(number) for number in range({outputs})]
"""
_PRINT = "import sys; from tflite_micro import runtime; runtime.Interpreter.from_bytes(sys.stdin.buffer.read()).print_allocations()"
NETWORKS = ("ds_cnn", "mobilenet_v2")


def tflm(python: str, outputs: int = 1) -> Judge:
    """Returns TFLM, for models with so many outputs."""
    return Judge(python, _RUN.format(outputs=outputs))


def head_bytes(python: str, data: bytes) -> int:
    """Returns the bytes that TFLM needs for activations and scratch memory. Raises RuntimeError where it refuses the model."""
    done = subprocess.run([python, "-c", _PRINT], input=data, capture_output=True, check=False)
    lines = (done.stdout + done.stderr).decode().splitlines()
    found = next((line for line in lines if "Arena allocation head" in line), None)
    if found is None:
        raise RuntimeError(f"TFLM says no arena: {lines[-3:]}")
    return int(found.split()[-2])


def main() -> int:
    """Prints a table; 1 if something is worse than it should be."""
    (python,) = installed("litert-test")
    judge, wrong = tflm(python), 0
    table = Table("network", "bytes", "arena, our plan", "arena, TFLM's plan", "elements that differ")
    images, _ = digits()
    networks: dict[str, Floats] = {"digits": (trained_cnn(), (images[:1],))}
    for name in NETWORKS:
        seed()
        networks[name] = WHOLE[name]()
    for name, (module, inputs) in networks.items():
        data = file_of(to_edge(quantize((module.eval(), inputs), [inputs] * 2, "int8", "litert").program))
        arrays = [item.numpy() for item in inputs]
        expected = decoded_results(data, arrays)
        differs = sum(int(np.sum(a != b)) for a, b in zip(expected, judge.run(data, arrays), strict=True))
        ours, theirs = head_bytes(python, data), head_bytes(python, data.replace(PLAN, b"-" * len(PLAN)))
        wrong += differs + max(ours - theirs, 0)
        table.add_row(name, str(len(data)), str(ours), str(theirs), str(differs))
    Console().print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
