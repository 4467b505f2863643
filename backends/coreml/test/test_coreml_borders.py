"""Integers and booleans between programs and models, which have both as integers of 32 bits."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from coremltools_judge import PYTHONS, read, unpacked, written
from torch import Tensor, nn

from flambeau import to_edge
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager.errors import PassError
from flambeau.runtime.interpreter import interpret


class Words(nn.Module):
    """A mask and ids, which come and go, also as they are."""

    def forward(self, mask: Tensor, ids: Tensor) -> tuple[Tensor, ...]:
        """Booleans, ids in other shapes, and floats of booleans."""
        seen = mask & (ids > 3)
        return seen, ids.reshape(3, 2).t(), torch.where(seen, ids, ids[:, :1]), seen.any(-1, keepdim=True).float(), mask.view(3, 2)


def example() -> tuple[Tensor, Tensor]:
    return torch.tensor([[True, False, True], [True, True, False]]), torch.tensor([[2, 5, 7], [4, 1, 9]])


def test_booleans_and_integers_cross_the_borders() -> None:
    edge = to_edge(torch.export.export(Words(), example())).to_backend("coreml")
    found = interpret(edge.module, edge.context, run_payload).run("forward", [value.numpy() for value in example()])
    for array, value in zip(map(np.asarray, found), Words()(*example()), strict=True):
        assert array.dtype == value.numpy().dtype and array.tolist() == value.tolist()


@pytest.mark.parametrize("python", PYTHONS, ids=lambda _: "coremltools")
def test_coremltools_reads_integers_and_booleans(python: str, tmp_path: Path) -> None:
    edge = to_edge(torch.export.export(Words(), example())).to_backend("coreml{target=iOS15}")
    payloads = [bytes(edge.context.blobs.get(op.data)) for op in edge.module.walk() if isinstance(op, PayloadOp)]
    packages = [unpacked(payload, tmp_path / str(number)) for number, payload in enumerate(payloads)]
    assert len(packages) == 3 and read(python, packages) == [written(package) for package in packages]


class Far(nn.Module):
    """A comparison with a number that 32 bits do not hold."""

    def forward(self, ids: Tensor) -> Tensor:
        """Whether an id is this number."""
        return ids == torch.tensor([1 << 40, 2])


def test_a_constant_of_more_bits_is_refused() -> None:
    with pytest.raises(PassError, match="has numbers from 2 to 1099511627776, and Core ML's have 32 bits: no_delegate keeps what reads it"):
        to_edge(torch.export.export(Far(), (torch.ones(2, dtype=torch.int64),))).to_backend("coreml")
