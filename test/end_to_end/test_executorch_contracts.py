"""Stock ExecuTorch runs what its kernels do not take as they stand: such samples of rows, as the default target rewrites them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import pytest
from executorch import runtime as executorch_runtime
from row_harness import assert_close, from_torch, to_torch
from row_programs import refused_samples

from flambeau.passes.targets.contracts import Contract
from flambeau.passes.targets.interface import find_target

import_module("executorch.kernels.quantized")  # adds them to stock ExecuTorch's
peer: Any = executorch_runtime
CONTRACTS = find_target("executorch").contracts


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda contract: contract.kernel)
def test_stock_executorch_gives_the_meaning_of_the_row(contract: Contract) -> None:
    count = 0
    for name, arrays, expected, compilation in refused_samples("executorch", contract):
        if not all(array.size for array in arrays):
            continue  # its Python binding takes no empty tensor
        count += 1
        program = peer.Runtime.get().load_program(compilation.emit(), verification=peer.Verification.InternalConsistency)
        results = program.load_method("forward").execute([to_torch(array) for array in arrays])
        assert_close(name, [from_torch(result) for result in results], expected, 5e-3)
    assert count
