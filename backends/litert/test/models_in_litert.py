"""Compiles nine models, quantized or in floats, and compares numpy's results of their TFLite models with those of others.

    export PYTHONPATH=test:test/helpers:test/quantized:test/suite
    .venv/bin/python backends/litert/test/models_in_litert.py
    .venv/bin/python backends/litert/test/models_in_litert.py --floats --small
    .venv/bin/python backends/litert/test/models_in_litert.py --int16

Others are LiteRT's reference kernels, which must compute the same bits, or floats within 1e-5 of the largest, and Flambeau's kernels in C,
which round in other places. A campaign, outside of the tests, which make the small models in shares. It prints, for each model, the
partitions, the share of the arithmetic in them, and the elements of their results that differ. The exit status is 1 if any do.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping

from device_models import SMALL, WHOLE, Floats, person_detection
from litert_judge import litert
from model_comparison import compared_model
from rich.console import Console
from rich.table import Table
from torch_programs import seed
from vendor_tools import installed

MODELS: Mapping[str, Callable[[], Floats]] = {**WHOLE, "person_detection": lambda: person_detection(96)}
SMALL_MODELS: Mapping[str, Callable[[], Floats]] = {**SMALL, "person_detection": lambda: person_detection(32)}


def main() -> int:
    """Prints a table; 1 if an element of a result differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--floats", action="store_true")
    parser.add_argument("--int16", action="store_true")
    parser.add_argument("--small", action="store_true")
    options = parser.parse_args()
    (python,) = installed("litert-test")
    judge = litert(python)
    backend = "litert{precision=float32}" if options.floats else "litert{activations=int16}" if options.int16 else "litert"
    table, wrong = Table("model", "partitions", "arithmetic in them", "elements", "that differ", "from our kernels", "s"), 0
    for name in options.models:
        seed()
        start = time.perf_counter()
        found = compared_model((SMALL_MODELS if options.small else MODELS)[name](), backend, judge, in_floats=options.floats)
        is_quantized = found.steps < 2 ** (16 if options.int16 else 8)  # otherwise it ends with an operator of floats
        distance = f"{found.steps} step" if is_quantized and not options.floats else f"{found.distance:.1e} of the largest"
        numbers = str(found.partitions), f"{found.share:.2%}", str(found.elements), str(found.different), distance
        table.add_row(name, *numbers, f"{time.perf_counter() - start:.0f}")
        wrong += found.different
    Console(width=140).print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
