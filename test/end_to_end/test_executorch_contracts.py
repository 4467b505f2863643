"""Stock ExecuTorch runs what its kernels do not take as they stand: such samples of rows, as the default target rewrites them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
import pytest
from executorch import runtime as executorch_runtime
from row_harness import ROWS, assert_close, from_torch, to_torch
from row_programs import OverOldBytes, kept_samples, refused_samples

from flambeau.passes.targets.interface import find_target
from flambeau.tools.samples.sample_operations import meaning

import_module("executorch.kernels.quantized")  # adds them to stock ExecuTorch's
peer: Any = executorch_runtime
TARGET = find_target("executorch")
KEPT = [row for row in ROWS.values() if row.level() in ("aten", "quantized_decomposed") and TARGET.has(row) and not row.random]


def executed(program: bytes, arrays: list[Any]) -> list[Any]:
    """What stock ExecuTorch makes of a program."""
    loaded = peer.Runtime.get().load_program(program, verification=peer.Verification.InternalConsistency)
    return [from_torch(result) for result in loaded.load_method("forward").execute([to_torch(array) for array in arrays])]


@pytest.mark.parametrize("kernel", [name for name, rule in TARGET.contracts.items() if rule.limits])
def test_stock_executorch_gives_the_meaning_of_the_row(kernel: str) -> None:
    count = 0
    for name, arrays, expected, compilation in refused_samples("executorch", kernel):
        if not all(array.size for array in arrays):
            continue  # its Python binding takes no empty tensor
        count += 1
        assert_close(name, executed(compilation.emit(), arrays), expected, 5e-3)
    assert count


def test_results_do_not_depend_on_what_their_memory_held() -> None:
    """A kernel that adds to its out, or leaves some of it as it was, gives something else where another tensor lay."""
    wrong: list[str] = []
    count = 0
    for row in KEPT:
        for op, block, arrays in kept_samples("executorch", row):
            expected = meaning(op, arrays)
            before = np.full(sum(result.nbytes for result in expected), np.nan, np.float32)
            over = OverOldBytes("executorch", op, block, before.size)
            if over.lies_there:
                count += 1
                results = executed(over.program, [*arrays, before])[: len(expected)]
                try:
                    assert_close(row.name, results, expected, 5e-3)
                except AssertionError as error:
                    wrong.append(str(error))
            break
    assert not wrong
    assert count > 190  # the rest are views, copies and tensors of constants
