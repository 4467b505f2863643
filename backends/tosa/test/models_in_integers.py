"""Compiles eight quantized models, and compares numpy's results of their TOSA graphs with those of others.

    export PYTHONPATH=test:test/helpers:test/quantized:test/suite
    .venv/bin/python backends/tosa/test/models_in_integers.py
    .venv/bin/python backends/tosa/test/models_in_integers.py --backend vgf --small

Others are Arm's reference model, which must compute the same bits, and Flambeau's kernels of integers in C, which round in other places.
With `--backend vgf`, Arm's emulation layers compute compiled files instead of the reference model; README.md of that folder says what
they need. A campaign, outside of the tests, which make the small models in shares. It prints, for each model, the partitions, the share
of the arithmetic in them, and the elements of the results that differ. The exit status is 1 if any do.
"""

from __future__ import annotations

import argparse
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


def compared(model: Floats, reference: Judge | None, backend: str = "tosa") -> Compared:
    """Compares a model with the reference model, or, without one, with what a backend of this family computes."""
    return compared_model(model, "tosa", reference, numbers=backend, other=None if reference else backend)


def main() -> int:
    """Prints a table; 1 if an element of a result differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(WHOLE))
    parser.add_argument("--backend", default="tosa")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    reference = reference_model(*installed("tosa-tools")) if options.backend == "tosa" else None
    names = ("model", "partitions", "arithmetic in them", "elements", "that differ", "steps from our kernels", "within one step", "s")
    table, wrong = Table(*names), 0
    for name in options.models:
        seed()
        start = time.perf_counter()
        found = compared((SMALL if options.small else WHOLE)[name](), reference, options.backend)
        numbers = (
            str(found.partitions),
            f"{found.share:.2%}",
            str(found.elements),
            str(found.different),
            str(found.steps),
            f"{found.near:.2%}",
        )
        table.add_row(name, *numbers, f"{time.perf_counter() - start:.0f}")
        wrong += found.different
    Console(width=140).print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
