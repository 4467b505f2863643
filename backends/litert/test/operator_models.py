"""Compares numpy's results of TFLite models of one operator each, from the samples of its row, with those of LiteRT's reference kernels.

    export PYTHONPATH=test/helpers:test/quantized:test/suite
    .venv/bin/python backends/litert/test/operator_models.py --seeds 100
    .venv/bin/python backends/litert/test/operator_models.py litert.fully_connected

A campaign, outside of the tests, which compare fewer.
"""

from __future__ import annotations

import argparse
import runpy
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from litert_judge import litert
from payload_judges import agree
from vendor_tools import installed
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.ir import Region

from flambeau.backends.litert import LiteRtOptions
from flambeau.backends.litert.encode import encode
from flambeau.dialects.delegate.ops import PartitionOp, ReturnOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import Samples
from flambeau.tools.samples.sample_operations import arrays_of, meaning, operation
from flambeau.tools.samples.sample_table import bound_samples

SAMPLES: dict[str, Samples] = runpy.run_path(str(Path(__file__).with_name("op_samples_litert.py")))["SAMPLES"]


def model_of(row: type[SchemaOp], sample: tuple[Any, ...]) -> tuple[bytes, list[Array], list[Array]]:
    """Returns the model of one operator, its inputs, and its results by numpy."""
    op, block = operation(row, sample)
    arrays = arrays_of(sample)
    expected = meaning(op, arrays)
    block.add_ops([op, ReturnOp(op.results)])
    partition = PartitionOp("partition", "LiteRtBackend", FunctionType.from_lists(block.arg_types, op.result_types), Region(block))
    constants = ModuleConstants(FlambeauContext(), ModuleOp([partition]))
    return bytes(encode(partition, constants, LiteRtOptions()).data), arrays, expected


def differences(python: str, seeds: Iterable[int], names: Iterable[str] = SAMPLES) -> tuple[Counter[str], list[str]]:
    """Compares samples of operators, of several seeds each. Returns how many of each were compared, and what differs."""
    compared, different = Counter[str](), list[str]()
    judge = litert(python)
    for name, seed in product(names, seeds):
        row = find_op(name)
        assert row is not None
        for sample in bound_samples(SAMPLES[name], row, seed):
            data, arrays, (expected,) = model_of(row, sample)
            compared[name] += 1
            try:
                (found,) = judge.run(data, arrays)
                what = "" if agree(expected, found) else _first(expected, found)
            except RuntimeError as error:
                what = str(error)
            if what:
                numbers = [item for item in sample if not isinstance(item, np.ndarray | list)]
                different.append(f"{name}, seed {seed}, {[item.shape for item in arrays]}, {numbers}: {what}")
    return compared, different


def _first(expected: Array, found: Array) -> str:
    """Returns the first element that differs."""
    if expected.shape != found.shape or expected.dtype != found.dtype:
        return f"{expected.dtype}{list(expected.shape)} is not {found.dtype}{list(found.shape)}"
    place = tuple(np.argwhere(expected != found)[0])
    return f"{expected[place]} is not {found[place]} at {list(place)}, one of {np.count_nonzero(expected != found)}"


def main() -> int:
    """Compares what the command line names; 1 if something differs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", default=list(SAMPLES))
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    (python,) = installed("litert-test")
    compared, different = differences(python, range(options.seeds), options.operators)
    print(*different, sep="\n")
    print(f"{sum(compared.values())} models of {len(compared)} operators compared, {len(different)} different")
    return int(bool(different))


if __name__ == "__main__":
    sys.exit(main())
