"""Compiles whole models for Core ML, lets coremltools read them, and compares numpy's results of what is read back with PyTorch's.

    export PYTHONPATH=test:test/helpers:test/suite:backends/coreml/test
    .venv/bin/python backends/coreml/test/coreml_whole_models.py
    … coreml_whole_models.py --precision f16 mobilenet_v2 resnet18
    … coreml_whole_models.py --package --target iOS18

A campaign, outside of the tests, which have small models. It prints, for each model, the delegates, the operators that the CPU keeps, the
operations of the delegates, those that coremltools reads with other names, types or elements than were written, and the distance from
PyTorch in units of the largest number. With `--package`, the whole program is a package, whose states go from call to call; they are of
float16, and PyTorch's are rounded to these after each call. The exit status is 1 if one is read otherwise, or a distance is above 1e-5 in
f32 or 3e-2 in f16.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from coremltools_judge import PYTHONS, read, run_package, unpacked, written
from model_campaign import WholeModel, campaign, case_of, distance, expected_of

from flambeau import to_edge

FARTHEST = {"f32": 1e-5, "f16": 3e-2}


def read_otherwise(packages: Sequence[Path]) -> tuple[int, int]:
    """The operations of packages, and how many of them coremltools reads otherwise."""
    said: list[Any] = [written(package) for package in packages]
    python = next(iter(PYTHONS), None)
    found: list[Any] = said if python is None else read(python, packages)
    pairs = [
        (a, b)
        for mine, theirs in zip(said, found, strict=True)
        for a, b in zip((*mine[:2], *mine[2]), (*theirs[:2], *theirs[2]), strict=True)
    ]
    return sum(len(item[2]) for item in said), sum(a != b for a, b in pairs)


def judged_package(name: str, options: str, folder: Path) -> tuple[str, int, float]:
    """What is said of a model as one package, the operations that are read otherwise, and the distance from PyTorch."""
    case = case_of(name)
    package = folder / "model.mlpackage"
    to_edge(case.export()).save(package, backend=f"coreml{options}")
    buffers = dict(case.module.named_buffers())
    states = [buffers[state] for state in written(package)[0][len(case.calls[0]) :]]

    def round_states() -> None:
        for state in states:
            state.copy_(state.half())

    zeros = [np.zeros(state.shape, np.float16) for state in states]
    count, wrong = read_otherwise([package])
    found = run_package(package, [[value.numpy() for value in call] for call in case.calls], zeros)
    expected = expected_of(case, round_states)
    return f"{count} operations, {len(zeros)} states", wrong, distance([results[0] for results in found], expected)


def judged(name: str, given: Any) -> tuple[str, bool]:
    """What is said of a model, and whether it is right."""
    options = f"{{precision={given.precision} target={given.target}}}"
    with TemporaryDirectory() as folder:
        if given.package:
            said, wrong, far = judged_package(name, options, Path(folder))
        else:
            model = WholeModel.of(name, f"coreml{options}", torch.float16)
            count, wrong = read_otherwise([unpacked(data, Path(folder) / str(place)) for place, data in enumerate(model.payloads)])
            said, far = f"{model}, {count} operations", model.distance
    is_right = not wrong and far <= FARTHEST[given.precision]
    return f"{said}, {wrong} read otherwise, {far:.1e} of the largest", is_right


def main() -> int:
    """Prints a line for each model."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--precision", choices=FARTHEST, default="f32")
    parser.add_argument("--target", default="iOS17")
    parser.add_argument("--package", action="store_true")
    if not PYTHONS:
        print("note: coremltools is not installed (make vendor-tools), and reads nothing")
    return campaign(parser, judged)


if __name__ == "__main__":
    sys.exit(main())
