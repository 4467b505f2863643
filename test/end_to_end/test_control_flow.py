"""Branches and loops: every stage, the C runtime and stock ExecuTorch compute what eager PyTorch does."""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any, cast

import pytest
import torch
from all_engines import disagreement, results, wrong_engine
from control_flow_operators import branch, loop, rows, steps, together
from torch import Tensor, nn

from flambeau.frontends.torch_export.import_report import UnsupportedProgramError


class Function(nn.Module):
    """A function as a model, which may use weights."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function
        self.linear = nn.Linear(3, 3)
        self.convolution = nn.Conv2d(3, 3, 3, padding=1)
        self.scale: Tensor
        self.register_buffer("scale", torch.tensor([1.0, -2.0, 0.5]))

    def forward(self, *inputs: Any) -> Any:
        return self.function(self, *inputs)


def weights_in_a_branch(m: Function, x: Tensor) -> Any:
    return branch(x.sum() > 0, lambda x: (m.linear(x), x + m.scale), lambda x: (x.sin(), x.clone()), (x,))


def siblings(m: Function, x: Tensor) -> Any:
    a = branch(x.sum() > 0, lambda x: x.sin() + 1, lambda x: x.cos() * 2, (x,))
    b = branch(x.mean() < 0, lambda x: x.exp() * 2, lambda x: x - 3, (x,))
    return a + b, a, b


def nested(m: Function, x: Tensor, y: Tensor) -> Any:
    def outer(x: Tensor, y: Tensor) -> Any:
        return branch(x.max() > 1, lambda x, y: x * y, lambda x, y: x - y, (x, y)), y * 2

    return branch(x.sum() > 0, outer, lambda x, y: (y + 1, x.clone()), (x, y))


def counting(m: Function, i: Tensor, x: Tensor) -> Any:
    captured = x * 2
    return loop(lambda i, x: i < 5, lambda i, x: (i + 1, x + captured), (i, x))


def changing_places(m: Function, i: Tensor, x: Tensor) -> Any:
    return loop(lambda i, a, b: i < 5, lambda i, a, b: (i + 1, b.clone(), a * 2), (i, x, x + 1))


def dtypes(m: Function, x: Tensor) -> Any:
    start = (torch.zeros((), dtype=torch.int32), torch.ones((), dtype=torch.bool), x.double(), torch.arange(3))

    def test(i: Tensor, go: Tensor, a: Tensor, b: Tensor) -> Any:
        return torch.logical_and(go, i < 7)

    def body(i: Tensor, go: Tensor, a: Tensor, b: Tensor) -> Any:
        return i + 1, a.sum() < 100, a * 2 + 1, b * 2 - i

    return loop(test, body, start)


def branch_in_a_loop(m: Function, i: Tensor, x: Tensor) -> Any:
    def body(i: Tensor, x: Tensor) -> Any:
        return i + 1, branch(x.sum() > 0, lambda x: x - 1, lambda x: x * x + 0.5, (x,))

    return loop(lambda i, x: i < 4, body, (i, x))


def loop_in_a_branch(m: Function, x: Tensor) -> Any:
    def turn(x: Tensor) -> Tensor:
        i = torch.zeros((), dtype=torch.int64)
        return loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 1.5), (i, x))[1]

    return branch(x.sum() > 0, turn, lambda x: turn(x - 5), (x,))


def each_row(m: Function, xs: Tensor, y: Tensor) -> Any:
    return rows(lambda x, y: (x + y, x.sum(), x > y), xs, y)


def loop_for_each_row(m: Function, xs: Tensor) -> Any:
    def turn(x: Tensor) -> Any:
        return loop(lambda i, x: x.sum() < 20, lambda i, x: (i + 1, x * 1.5 + 1), (torch.zeros((), dtype=torch.int64), x))

    return rows(turn, xs)


def rows_of_rows(m: Function, xs: Tensor) -> Any:
    return rows(lambda x: rows(lambda y: y.cumsum(0) * m.scale, x), xs)


def running(m: Function, start: Tensor, xs: Tensor) -> Any:
    def step(carried: Tensor, x: Tensor) -> Any:
        following = carried + x * 2
        return following, following.sin()

    return steps(step, start, xs, reverse=True)


def several_sequences(m: Function, xs: Tensor, ys: Tensor) -> Any:
    def step(carried: Any, x: Any) -> Any:
        total, count = carried
        a, b = x
        return (total + a * b.sum(), count + 1), (total.clone(), a - b[:3], count * 2)

    return steps(step, (torch.zeros(3), torch.zeros((), dtype=torch.int64)), (xs, ys))


def recurrent(m: Function, start: Tensor, xs: Tensor) -> Any:
    def step(carried: Tensor, x: Tensor) -> Any:
        following = torch.tanh(m.linear(carried) + x)
        return following, following.clone()

    return steps(step, start, xs)


def associative(m: Function, xs: Tensor) -> Any:
    return together(lambda a, b: a * b, xs)


def written_in_a_branch(m: Function, x: Tensor) -> Any:
    def change(x: Tensor) -> Tensor:
        y = x.clone()
        y[1:].add_(1)
        return y

    return branch(x.sum() > 0, change, lambda x: x.sin(), (x,))


def written_in_each_round(m: Function, x: Tensor, xs: Tensor) -> Any:
    def step(carried: Tensor, row: Tensor) -> Any:
        y = carried.clone()
        y[0].copy_(torch.full((), 2.0))
        return y, row + 1

    return steps(step, x, xs)


def halves_in_each_round(m: Function, x: Tensor) -> Any:
    def body(i: Tensor, y: Tensor) -> Any:
        top, bottom = (y * 2).chunk(2)
        z = torch.cat([bottom.sigmoid() * top, branch(top.sum() > 0, lambda a: a.sin() + 1, lambda a: -a, (top,))])
        return i + 1, z.reshape(2, -1).flip(0).reshape(-1, 3)

    return loop(lambda i, y: i < 5, body, (ZERO, x))[1]


def one_of_the_inputs(m: Function, x: Tensor, y: Tensor) -> Any:
    return branch(x.sum() > y.sum(), lambda x, y: (x.clone(), y.clone()), lambda x, y: (y.clone(), y.clone()), (x, y))


def constants_in_regions(m: Function, x: Tensor) -> Any:
    table = torch.tensor([3.0, 1.0, 2.0])
    return branch(x.sum() > 0, lambda x: x * table, lambda x: table.clone(), (x,))


def without_gradients(m: Function, x: Tensor) -> Any:
    with torch.no_grad():
        y = branch(x.sum() > 0, lambda x: x + 1, lambda x: x - 1, (x,))
    return y * m.linear(x)


def channels_last(m: Function, x: Tensor) -> Any:
    i = torch.zeros((), dtype=torch.int64)
    copied = branch(x.sum() > 0, lambda x: x.clone(), lambda x: x * 2, (x,))
    return copied, loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * 1.5), (i, x))[1]


def convolutions(m: Function, x: Tensor) -> Any:
    def body(i: Tensor, y: Tensor) -> Any:
        return i + 1, torch.relu(m.convolution(y)) - y

    y = loop(lambda i, y: i < 3, body, (torch.zeros((), dtype=torch.int64), x))[1]
    return branch(y.sum() > 0, lambda y: torch.relu(m.convolution(y)), lambda y: y * 2, (y,)).mean((2, 3))


def a(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape)))


ZERO = torch.tensor(0)
PROGRAMS: dict[str, tuple[Callable[..., Any], list[tuple[Tensor, ...]]]] = {
    function.__name__: (function, list(inputs))
    for function, *inputs in (
        (weights_in_a_branch, (a(3).abs(),), (-a(3).abs(),)),
        (siblings, (a(3).abs(),), (-a(3).abs(),), (torch.tensor([1.0, -3.0, 2.5]),)),
        (nested, (a(3).abs() + 1, a(3)), (a(3).abs() / 9, a(3)), (-a(3).abs(), a(3))),
        (counting, (ZERO, a(3)), (torch.tensor(9), a(3))),
        (changing_places, (ZERO, a(3))),
        (dtypes, (a(3),), (a(3) * 100,)),
        (branch_in_a_loop, (ZERO, a(3)), (ZERO, a(3) * 3)),
        (loop_in_a_branch, (a(3).abs(),), (-a(3).abs(),)),
        (each_row, (a(4, 3), a(3)), (a(1, 3), a(3))),
        (loop_for_each_row, (a(4, 3),)),
        (rows_of_rows, (a(2, 4, 3),)),
        (running, (a(3), a(4, 3))),
        (several_sequences, (a(5, 3), a(5, 4))),
        (recurrent, (a(3), a(6, 3))),
        (associative, (a(5, 3),)),
        (written_in_a_branch, (a(3).abs(),), (-a(3).abs(),)),
        (written_in_each_round, (a(3), a(4, 3))),
        (halves_in_each_round, (a(4, 3),)),
        (one_of_the_inputs, (a(3), a(3) + 1), (a(3) + 1, a(3))),
        (constants_in_regions, (a(3).abs(),), (-a(3).abs(),)),
        (channels_last, (a(1, 3, 4, 5).to(memory_format=torch.channels_last),)),
        (convolutions, (a(1, 3, 4, 4),)),
        (without_gradients, (a(3).abs(),)),
    )
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_every_engine_computes_what_eager_does(name: str) -> None:
    function, inputs = PROGRAMS[name]
    model = Function(function)
    alike: dict[Any, list[tuple[Tensor, ...]]] = {}
    for given in inputs:
        alike.setdefault(tuple((x.shape, x.dtype) for x in given), []).append(given)
    with torch.no_grad():
        for group in alike.values():
            turns = [(given, results(lambda items: model(*items), given)) for given in group]
            program = torch.export.export(deepcopy(model).eval(), tuple(x.clone() for x in group[0]))
            assert wrong_engine(program, turns) is None


def test_an_enabled_autocast_is_resolved() -> None:
    def mixed(m: Function, x: Tensor) -> Any:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = x @ x
        return y.float() + 1

    x = torch.eye(3) * 2
    with torch.enable_grad():
        assert disagreement(Function(mixed), (x,)) is None


@cast(Any, torch).compiler.nested_compile_region
def region(x: Tensor) -> Tensor:
    return x.sin() + 1


def test_a_subgraph_that_is_called_twice_is_imported_twice() -> None:
    def twice(m: Function, x: Tensor) -> Tensor:
        return region(x) + region(x * 2)

    assert disagreement(Function(twice), (a(3),), strict=True) is None


class Tally(nn.Module):
    """A branch in a loop in a scan, which give its state new values."""

    def __init__(self) -> None:
        super().__init__()
        self.total: Tensor
        self.turns: Tensor
        self.register_buffer("total", torch.tensor([5.0, -1.0, 2.0]))
        self.register_buffer("turns", torch.tensor(3))

    def forward(self, xs: Tensor) -> Any:
        def step(carried: Any, x: Tensor) -> Any:
            total, turns = carried

            def turn(i: Tensor, total: Tensor, x: Tensor) -> Any:
                condition = total.sum() < x.sum() * 2
                total, x = branch(condition, lambda a, b: (a + b, b * 0.5 - a.amin()), lambda a, b: ((a - b * 2).flip(0), -b), (total, x))
                return i + 1, total, x

            start = (torch.zeros((), dtype=torch.int64), total, x.clone())
            i, total, left = loop(lambda i, total, x: i < turns % 3 + 1, turn, start)
            return (total, turns + i), left

        (total, turns), left = steps(step, (self.total.clone(), self.turns.clone()), xs)
        self.total.copy_(total)
        self.turns.copy_(turns)
        return left, self.total * 2


@pytest.mark.parametrize("is_dynamic", [False, True])
def test_a_branch_in_a_loop_in_a_scan_changes_the_state(*, is_dynamic: bool) -> None:
    shapes = {"xs": {0: torch.export.Dim("n", min=2, max=8)}} if is_dynamic else None
    assert disagreement(Tally(), (a(4, 3),), turns=3, dynamic_shapes=shapes) is None


def a_branch_writes(m: Tally, xs: Tensor) -> Any:
    def grown(x: Tensor) -> Any:
        m.total.add_(x)
        m.turns.copy_(m.turns * 2)
        return x + 1

    def kept(x: Tensor) -> Any:
        m.total[1:].mul_(x[0])
        return x - 1

    return branch(xs.sum() < 0, grown, kept, (xs[0],)), branch(xs.sum() > 0, grown, kept, (xs[1],)) * m.total


def a_loop_writes(m: Tally, xs: Tensor) -> Any:
    def turn(i: Tensor, x: Tensor) -> Any:
        m.total.index_copy_(0, i[None], x[:1])
        m.turns.add_(1)
        return i + 1, x * 0.5 + m.total.sum()

    m.total.mul_(2)
    _, left = loop(lambda i, x: i < m.turns % 2 + 1, turn, (torch.zeros((), dtype=torch.int64), xs[0].clone()))
    return left, m.total * m.turns


def a_loop_in_a_branch_writes(m: Tally, xs: Tensor) -> Any:
    def turned(x: Tensor) -> Any:
        own = x * 1

        def turn(i: Tensor, x: Tensor) -> Any:
            m.total.add_(x)
            own.mul_(2)
            return i + 1, x * 0.5

        return loop(lambda i, x: i < 3, turn, (torch.zeros((), dtype=torch.int64), x + 1))[1] + own

    return branch(xs.sum() < 100, turned, torch.sin, (xs[0],)) + m.total


def a_branch_writes_parts(m: Tally, xs: Tensor) -> Any:
    def grown(x: Tensor) -> Any:
        m.total[:2].add_(x[1:])
        m.total[2] = 7
        return x * 2

    return branch(xs.sum() < 100, grown, torch.sin, (xs[0],)), m.total * 1


def a_branch_sees_views_of_one_memory(m: Tally, xs: Tensor) -> Any:
    def grown(x: Tensor, y: Tensor) -> Any:
        m.total.add_(x)
        return x + y.sum()

    return branch(xs.sum() < 100, grown, lambda x, y: x.sin(), (xs[0], xs[:2]))


def a_branch_has_two_names_for_a_state(m: Tally, xs: Tensor) -> Any:
    def grown(x: Tensor, total: Tensor, same: Tensor) -> Any:
        total.add_(x)
        return x + same.sum()

    return branch(xs.sum() < 100, grown, lambda x, total, same: x.sin(), (xs[0], m.total, m.total)), m.total * 1


def a_scan_beside_a_write_gives_a_view(m: Tally, xs: Tensor) -> Any:
    both = torch.complex(xs, xs)

    def grown(x: Tensor) -> Any:
        m.total.add_(x)
        return steps(lambda carried, x: (carried * 2, both.real.to(torch.float32)), x.clone(), xs.clone())[1] + x

    return branch(xs.sum() < 100, grown, lambda x: x.expand(4, 4, 3).sin(), (xs[0],))


class Writer(Tally):
    """A model whose branches and loops write to its state."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, xs: Tensor) -> Any:
        return self.function(self, xs)


WRITERS = (
    a_branch_has_two_names_for_a_state,
    a_branch_writes,
    a_loop_writes,
    a_loop_in_a_branch_writes,
    a_branch_writes_parts,
    a_branch_sees_views_of_one_memory,
)


@pytest.mark.parametrize("function", WRITERS)
def test_branches_and_loops_write_to_state(function: Callable[..., Any]) -> None:
    shapes = {"xs": {0: torch.export.Dim("n", min=2, max=8)}}
    assert disagreement(Writer(function), (a(4, 3),), turns=2, dynamic_shapes=shapes) is None


def test_state_is_written_beside_an_associative_scan() -> None:
    def summed(m: Tally, xs: Tensor) -> Any:
        found = together(lambda a, b: a + b, xs)
        m.total.add_(found[1])
        return found + m.total

    assert disagreement(Writer(summed), (a(4, 3),), turns=2) is None


def a_branch_sees_two_views(m: Tally, xs: Tensor) -> Any:
    part = m.total[1:]

    def grown(x: Tensor) -> Any:
        m.total.add_(x)
        return x + part.sum()

    return branch(xs.sum() < 0, grown, torch.sin, (xs[0],))


def a_branch_gives_what_it_writes(m: Tally, xs: Tensor) -> Any:
    given = branch(xs.sum() < 0, lambda x: m.total.add_(x), torch.sin, (xs[0],))  # PyTorch does not trace methods
    m.total.add_(1)
    return given


@pytest.mark.parametrize("function", [a_branch_sees_two_views, a_branch_gives_what_it_writes])
def test_writes_that_something_else_shows_are_refused(function: Callable[..., Any]) -> None:
    with pytest.raises(UnsupportedProgramError, match=r"return the new value instead|write to a clone\(\)"):
        disagreement(Writer(function), (a(4, 3),))


def test_a_saved_program_has_branches_that_write_to_state(tmp_path: Path) -> None:
    model, shown = Writer(a_loop_in_a_branch_writes), Writer(a_branch_sees_two_views)
    with torch.no_grad():
        for name, item in (("model", model), ("shown", shown)):
            torch.export.save(torch.export.export(deepcopy(item), (a(4, 3),)), tmp_path / f"{name}.pt2")
        turns = [((a(4, 3),), results(lambda given: model(*given), (a(4, 3),))) for _ in range(2)]
    assert wrong_engine(torch.export.load(tmp_path / "model.pt2"), turns) is None
    with pytest.raises(UnsupportedProgramError):
        wrong_engine(torch.export.load(tmp_path / "shown.pt2"), [])
