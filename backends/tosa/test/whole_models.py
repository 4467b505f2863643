"""Compiles eight models, and compares numpy's results of their TOSA graphs with those of others.

    export PYTHONPATH=test:test/helpers:test/quantized:test/suite
    .venv/bin/python backends/tosa/test/whole_models.py --backend "tosa{activations=int16}"
    .venv/bin/python backends/tosa/test/whole_models.py --backend "vgf{profile=fp}" --small

The models are quantized for the backend; in its profile `fp` they are of float32, or with `--half` of float16. Others are Arm's reference
model, which must compute the same integers, and Flambeau's kernels in C, which round in other places. Of another backend than `tosa`, what
runs its files computes in place of the reference model, for `vgf` Arm's emulation layers; the README.md of its folder says what that needs.
A campaign, outside of the tests, which make the small models in shares. It prints, for each model, the partitions, the share of the
arithmetic in them, and the elements of the results that differ: integers at all, floats by more than 1e-5 of the largest, float16 by 1e-2.
The exit status is 1 if any do.
"""

from __future__ import annotations

import argparse
import os
import sys
import time

from device_models import SMALL, WHOLE, Floats
from model_comparison import Compared, compared_model
from payload_judges import Judge
from reference_model import reference_model
from rich.console import Console
from rich.table import Table
from torch_programs import seed
from vendor_tools import installed

from flambeau.passes.delegation.interface import find_backend


def compared(model: Floats, reference: Judge | None, backend: str = "tosa") -> Compared:
    """Compares a model with the reference model, or, without one, with what a backend of this family computes."""
    name, brace, options = backend.partition("{")
    tosa = f"tosa{brace}{options}"
    return compared_model(model, tosa, reference, numbers=backend, other=None if name == "tosa" else backend, in_floats="=fp" in options)


def main() -> int:
    """Prints a table; 1 if an element of a result differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(WHOLE))
    parser.add_argument("--backend", default="tosa")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--half", action="store_true")
    options = parser.parse_args()
    name = options.backend.partition("{")[0]
    for tool in find_backend(name).tools:
        # Without its tools a backend takes nothing, and the floats around it would be compared.
        found = [os.environ[tool.variable]] if tool.variable in os.environ else installed(name, tool.name)
        if not found:
            parser.error(f"{name} needs {tool.name}: make vendor-tools installs it, or name it by {tool.variable}")
        os.environ[tool.variable] = found[0]
    reference = reference_model(*installed("tosa-tools")) if options.backend.startswith("tosa") else None
    names = ("model", "partitions", "arithmetic in them", "elements", "that differ", "from our kernels", "within one step", "s")
    table, wrong = Table(*names), 0
    for model in options.models:
        seed()
        start = time.perf_counter()
        module, inputs = (SMALL if options.small else WHOLE)[model]()
        if options.half:
            module, inputs = module.half(), tuple(item.half() for item in inputs)
        result = compared((module, inputs), reference, options.backend)
        distance = f"{result.distance:.1e} of the largest"
        away = (distance, "") if "=fp" in options.backend else (f"{result.steps} steps", f"{result.near:.2%}")
        numbers = (str(result.partitions), f"{result.share:.2%}", str(result.elements), str(result.different), *away)
        table.add_row(model, *numbers, f"{time.perf_counter() - start:.0f}")
        wrong += result.different
    Console(width=140).print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
