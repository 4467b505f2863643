"""The table of special numbers in docs/guide/numerics.md: what kernels and backends make of NaN, infinities and zeros."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch

import flambeau
from flambeau.passes.delegation.interface import find_backend
from flambeau.runtime import Runtime

PAGE = Path(__file__).resolve().parents[3] / "docs" / "guide" / "numerics.md"
COLUMNS = ("cpu", "xnnpack", "openvino")
ROWS = [
    (match[1], dict(zip(COLUMNS, match[2].replace(" ", "").split("|"), strict=True)))
    for match in re.finditer(r"^\| `(\w+\(.*\))` \| (.*) \|$", PAGE.read_text().partition("## Special numbers")[2], re.MULTILINE)
]
COUNT = 19
"""Equal elements, so that whole vectors and the rest of the kernels' loops compute them."""


class Call(torch.nn.Module):
    """A call of the table."""

    def __init__(self, function: Callable[..., torch.Tensor]):
        super().__init__()
        self.function = function

    def forward(self, *tensors: torch.Tensor) -> torch.Tensor:
        return self.function(*tensors)


def call_of(text: str) -> tuple[Call, tuple[torch.Tensor, ...]]:
    """The call that a cell writes, on tensors of equal elements or, for a list, of equal rows."""
    name, written = text[: text.index("(")], text[text.index("(") + 1 : -1]
    numbers: Any = eval(f"({written},)", {"nan": math.nan, "inf": math.inf, "one": 1.0})
    function: Any = getattr(torch, name)
    if isinstance(numbers[0], list):
        return Call(partial(function, dim=1)), (torch.tensor([numbers[0]] * COUNT),)
    return Call(function), tuple(torch.full((COUNT,), number) for number in cast("tuple[float, ...]", numbers))


def is_number(found: np.ndarray[Any, Any], cell: str) -> bool:
    """Whether all elements are the number of a cell; the sign of a zero counts, but where the table has no sign."""
    wanted = np.full(found.shape, float(cell))
    is_equal = np.array_equal(found.astype(np.float64), wanted, equal_nan=True)
    return is_equal and (cell != "-0" or bool(np.signbit(found).all()))


def run(module: Call, tensors: tuple[torch.Tensor, ...], target: str, backend: str | None = None) -> tuple[Any, bool]:
    """The result in our runtime, and whether the backend took part."""
    exported = torch.export.export(module.eval(), tensors)
    config = flambeau.EdgeCompileConfig(target=target)
    edge = flambeau.to_edge_transform_and_lower(exported, partitioner=backend, compile_config=config)
    program = bytes(edge.to_executorch().buffer)
    method = Runtime.get().load_program(program).load_method("forward")
    is_delegated = backend is not None and find_backend(backend).identifier.encode() in program
    return method.execute([tensor.numpy() for tensor in tensors])[0], is_delegated


def test_the_table_is_found() -> None:
    assert len(ROWS) > 10 and {"exp(nan)", "sqrt(inf)", "rsqrt(-0.0)"} <= {call for call, _ in ROWS}


@pytest.mark.parametrize(("call", "cells"), ROWS, ids=[call for call, _ in ROWS])
def test_kernels_agree_with_pytorch(call: str, cells: dict[str, str]) -> None:
    module, tensors = call_of(call)
    assert is_number(module(*tensors).numpy(), cells["cpu"])
    for target in ("executorch", "flambeau"):
        assert is_number(run(module, tensors, target)[0], cells["cpu"]), target


@pytest.mark.parametrize("backend", [name for name in COLUMNS[1:] if (library := find_backend(name).found) and library.find()])
@pytest.mark.parametrize(("call", "cells"), ROWS, ids=[call for call, _ in ROWS])
def test_a_backend_gives_what_the_table_says_or_what_pytorch_gives(call: str, cells: dict[str, str], backend: str) -> None:
    module, tensors = call_of(call)
    found, is_delegated = run(module, tensors, "flambeau", backend)
    assert is_delegated == (cells[backend] != "stays")
    wanted = [cells["cpu"], *([cells[backend]] if is_delegated else [])]
    assert any(is_number(found, cell) for cell in wanted), found
