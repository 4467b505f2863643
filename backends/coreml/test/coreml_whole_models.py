"""Compiles whole models for Core ML, lets coremltools read them, and compares numpy's results of what is read back with PyTorch's.

    PYTHONPATH=test:test/helpers:test/suite:backends/coreml/test .venv/bin/python backends/coreml/test/coreml_whole_models.py
    … coreml_whole_models.py --precision f16 mobilenet_v2 resnet18

A campaign, outside of the tests, which have small models. It prints, for each model, the delegates, the operators that the CPU keeps, the
operations of the delegates, those that coremltools reads with other names, types or elements than were written, and the distance from
PyTorch in units of the largest number. The exit status is 1 if one is read otherwise, or a distance is above 1e-5 in f32 or 3e-2 in f16.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import torch
from coremltools_judge import PYTHONS, read, unpacked, written
from device_models import CAMPAIGN
from torch_programs import seed

from flambeau import to_edge
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.interpreter import interpret

FARTHEST = {"f32": 1e-5, "f16": 3e-2}


def judged(name: str, options: str, python: str | None) -> tuple[str, int, float]:
    """What is said of a model, the operations that are read otherwise, and the distance from PyTorch."""
    seed()
    module, inputs = CAMPAIGN[name]()
    with torch.no_grad():
        exported, expected = torch.export.export(module.eval(), inputs), module(*inputs).numpy()
    edge = to_edge(exported).to_backend(f"coreml{options}")
    ops = list(edge.module.walk())
    kept = sum(isinstance(op, SchemaOp) for op in ops)
    payloads = [bytes(edge.context.blobs.get(op.data)) for op in ops if isinstance(op, PayloadOp)]
    with tempfile.TemporaryDirectory() as folder:
        packages = [unpacked(payload, Path(folder) / str(number)) for number, payload in enumerate(payloads)]
        said: list[Any] = [written(package) for package in packages]
        found: list[Any] = said if python is None else read(python, packages)
    pairs = [
        (a, b)
        for mine, theirs in zip(said, found, strict=True)
        for a, b in zip((*mine[:2], *mine[2]), (*theirs[:2], *theirs[2]), strict=True)
    ]
    (result,) = interpret(edge.module, edge.context, run_payload).run("forward", [value.numpy() for value in inputs])
    distance = float(np.abs(np.asarray(result) - expected).max() / np.abs(expected).max())
    wrong = sum(a != b for a, b in pairs)
    operations = sum(len(item[2]) for item in said)
    return f"{len(payloads)} delegates, {kept} operators kept, {operations} operations", wrong, distance


def main() -> int:
    """Prints a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(CAMPAIGN))
    parser.add_argument("--precision", choices=FARTHEST, default="f32")
    parser.add_argument("--target", default="iOS17")
    options = parser.parse_args()
    python = next(iter(PYTHONS), None)
    if python is None:
        print("note: coremltools is not installed (make vendor-tools), and reads nothing")
    status = 0
    for name in options.models:
        said, wrong, distance = judged(name, f"{{precision={options.precision} target={options.target}}}", python)
        print(f"{name}: {said}, {wrong} read otherwise, {distance:.1e} of the largest", flush=True)
        status |= int(wrong > 0 or not distance <= FARTHEST[options.precision])
    return status


if __name__ == "__main__":
    sys.exit(main())
