"""Numbers and truth values that data or sizes decide: assertions about them, what operators and branches make of them, outputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import pytest
import torch
from all_engines import disagreement, engines
from control_flow_operators import branch, loop
from torch import Tensor, nn
from torch.export import Dim

from flambeau.runtime import FlambeauError
from flambeau.runtime.interpreter import InterpreterError

library: Any = torch
SIZES = ({0: Dim("a", min=2, max=9), 1: Dim("b", min=2, max=9)},)
DATA = torch.tensor([[0.25, -1.5, 2.0, 0.75, -0.5, 1.0]] * 4)
"""Its sums are exact."""


class _Function(nn.Module):
    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Any:
        return self.function(x)


def _compared(x: Tensor) -> Tensor:
    library._check(x.max().item() < 5)
    return x * 2


def _asserted(x: Tensor) -> Tensor:
    library._assert_async(x.max() < 5, "the largest is below 5")
    return x * 2


def _not_zero(x: Tensor) -> Tensor:
    library._assert_async(5 - x.max())
    return x * 2


def _in_a_branch(x: Tensor) -> Tensor:
    def positive(x: Tensor) -> Tensor:
        library._assert_async(x.max() < 5, "below 5 in a branch")
        return x * 2

    return branch(x.sum() > 0, positive, lambda x: x * 2, (x,))


ASSERTIONS = {
    _compared: "< 5.0",
    _asserted: "the largest is below 5",
    _not_zero: "an assertion of the program",
    _in_a_branch: "below 5 in a branch",
}


@pytest.mark.parametrize("function", ASSERTIONS, ids=lambda function: function.__name__)
def test_assertions_about_data(function: Callable[..., Any], capfd: pytest.CaptureFixture[str]) -> None:
    with torch.no_grad():
        program = torch.export.export(_Function(function), (DATA,), strict=False)
    wrong = DATA + 3
    for engine, run in engines(program):
        (found,) = run([DATA])
        assert torch.equal(torch.as_tensor(found), DATA * 2), engine
        capfd.readouterr()
        with pytest.raises((InterpreterError, FlambeauError, RuntimeError)) as caught:
            run([wrong])
        message = capfd.readouterr().err if engine.startswith("stock") else str(caught.value)
        assert ASSERTIONS[function] in message, engine
        if engine.startswith("C runtime"):
            assert "test_data_numbers.py:" in message
        (found,) = run([DATA])
        assert torch.equal(torch.as_tensor(found), DATA * 2), engine


def _outputs(x: Tensor) -> tuple[Any, ...]:
    largest: Any = x.max().item()
    return largest, largest * 2 - 1.5, -largest, 1 / largest, largest > 0.5, library.sym_max(largest, 3), (x > 0).any().item()


def _floats(x: Tensor) -> tuple[Any, ...]:
    mean: Any = x.mean().item()
    filled = torch.full((2,), mean), torch.full_like(x, mean), x.clone().fill_(mean), x.masked_fill(x > 0, mean * 2)
    return *filled, x.clamp(max=mean), torch.where(x > 0, x, mean), x.add(mean / 2, alpha=2), x.abs() ** mean, x > mean


def _integers(x: Tensor) -> tuple[Any, ...]:
    count: Any = (x > 0).sum().item()
    return (
        torch.full((2,), count),
        x.clamp(max=count),
        x * count,
        torch.where(x > 0, x, count),
        count,
        count + 1,
        torch.sqrt(x.abs() + count),
    )


def _chosen_by_data(x: Tensor) -> tuple[Any, ...]:
    largest: Any = x.max().item()
    conditions: tuple[Any, ...] = largest > 0.5, (largest > 0.5) & (x.min().item() > 0)
    return tuple(branch(condition, torch.sin, torch.cos, (x,)) for condition in conditions)


def _only_sizes(x: Tensor) -> tuple[Any, ...]:
    return x.nonzero().shape[0], x * x[x > 0].shape[0], torch.zeros(cast(Any, x).unique().shape[0], 2)


def _chosen_by_a_size(x: Tensor) -> Tensor:
    return branch(cast(Any, x.nonzero().shape[0]) > 2, lambda x: x * 2, lambda x: x - 1, (x,))


@pytest.mark.parametrize(
    "function", (_outputs, _floats, _integers, _chosen_by_data, _only_sizes, _chosen_by_a_size), ids=lambda function: function.__name__
)
def test_numbers_that_data_decides(function: Callable[..., Any]) -> None:
    assert disagreement(_Function(function), (DATA,)) is None


def _numbers_of_sizes(x: Tensor) -> tuple[Any, ...]:
    rows, columns = x.shape
    wide: Any = library.sym_float(columns)
    return x / library.sym_float(rows), rows / 2, rows**0.5, x * (1 / columns**0.5), wide, rows > 3, (rows > 3) & (columns < 5)


def _chosen_by_sizes(x: Tensor) -> tuple[Any, ...]:
    rows, columns = x.shape
    conditions: tuple[Any, ...] = (
        library.sym_not(rows > 3),
        cast(Any, rows > 3) & (columns < 5),
        cast(Any, rows > 3) | (columns < 5),
    )
    return tuple(branch(condition, torch.sin, torch.cos, (x,)) for condition in conditions)


def _repeated_by_sizes(x: Tensor) -> Any:
    return loop(lambda i, x: (i < x.shape[0]) & (i < 3), lambda i, x: (i + 1, x * 2), (0, x))


@pytest.mark.parametrize("shape", ((4, 6), (2, 4), (4, 4)), ids=str)
@pytest.mark.parametrize("function", (_numbers_of_sizes, _chosen_by_sizes, _repeated_by_sizes), ids=lambda function: function.__name__)
def test_numbers_that_sizes_decide(function: Callable[..., Any], shape: tuple[int, int]) -> None:
    assert disagreement(_Function(function), (DATA[: shape[0], : shape[1]].clone(),), dynamic_shapes=SIZES) is None


class _Taken(nn.Module):
    def forward(self, x: Tensor, n: int, m: int) -> tuple[Tensor, int]:
        check: Any = cast(Any, torch)._check
        check(n + m <= x.shape[0])
        check(n >= 0)
        return x[n : n + m], n * m


def test_integers_of_the_caller_are_the_size_of_a_result() -> None:
    dims = None, torch.export.Dim.DYNAMIC, torch.export.Dim.DYNAMIC
    program = torch.export.export(_Taken(), (torch.arange(6.0), 2, 3), dynamic_shapes=dims)
    for engine, run in engines(program):
        if engine.startswith("stock"):
            continue  # it takes no other integer than the program holds
        for n, m in ((2, 3), (0, 6), (1, 2)):
            found, product = run([torch.arange(6.0), n, m])
            assert product == n * m and torch.equal(torch.as_tensor(found), torch.arange(6.0)[n : n + m]), engine
        with pytest.raises(Exception, match=r"must (hold|be)|does not hold"):
            run([torch.arange(6.0), 2, 5])
