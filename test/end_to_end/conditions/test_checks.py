"""Checks of what data decides: what PyTorch refuses when it runs, every engine refuses, whatever the export concluded from the check."""

from __future__ import annotations

import inspect
import io
import operator
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
import torch
from all_engines import PEER, difference, engines, leaves
from shares import dealt
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from flambeau import EdgeCompileConfig, to_edge
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.interpreter import InterpreterError, interpret

library: Any = torch
check: Any = library._check
Function = Callable[[Tensor, Tensor], Any]
DYNAMIC = ({0: Dim("rows", min=2, max=9)}, {0: Dim("columns", min=2, max=9)})
REFUSALS = (InterpreterError, FlambeauError, RuntimeError)


class _Model(nn.Module):
    def __init__(self, function: Function):
        super().__init__()
        self.function = function

    def forward(self, x: Tensor, y: Tensor) -> Any:
        return self.function(x, y)


def _count(x: Tensor) -> Any:
    return (x > 0).sum().item()


def _holds(x: Tensor) -> Any:
    return x.all().item()


def _all(x: Tensor, y: Tensor) -> Any:
    check((x > 0).all().item())
    return x + 1


def _data_with_data(x: Tensor, y: Tensor) -> Any:
    check((x.sum() < y.max()).item())
    return x + 1


def _equal_data(x: Tensor, y: Tensor) -> Any:
    check((x.sum() == y.sum()).item())
    return x + 1


def _one_number(x: Tensor, y: Tensor) -> Any:
    check(_count(x) == 3)
    return x + 1


def _one_float(x: Tensor, y: Tensor) -> Any:
    check(x.sum().item() == 3.0)
    return x + 1


def _below_a_number(x: Tensor, y: Tensor) -> Any:
    check(_count(x) < 3)
    return x + 1


def _below_a_size(x: Tensor, y: Tensor) -> Any:
    check(_count(x) < x.shape[0])
    return x + 1


def _equals_a_size(x: Tensor, y: Tensor) -> Any:
    check(_count(x) == x.shape[0])
    return x + 1


def _equals_a_sum_of_sizes(x: Tensor, y: Tensor) -> Any:
    check(_count(x) == x.shape[0] + y.shape[0] - 4)
    return x + 1


def _data_equals_a_size(x: Tensor, y: Tensor) -> Any:
    check((x.sum() == x.shape[0]).item())
    return x + 1


def _two_counts(x: Tensor, y: Tensor) -> Any:
    check(_count(x) == _count(y))
    return x + 1


def _follows_from_another(x: Tensor, y: Tensor) -> Any:
    check(_count(x) == _count(y) + 1)
    return x + 1


def _tensor_all(x: Tensor, y: Tensor) -> Any:
    library._check_tensor_all(x > 0)
    return x + 1


def _any_tensor_true(x: Tensor, y: Tensor) -> Any:
    check(library._is_any_true(x > 1).item())
    return x + 1


def _conjunction(x: Tensor, y: Tensor) -> Any:
    check(_holds(x > 0) & _holds(y > 0))
    return x + 1


def _disjunction(x: Tensor, y: Tensor) -> Any:
    check(_holds(x > 0) | _holds(y > 0))
    return x + 1


def _negation(x: Tensor, y: Tensor) -> Any:
    check(library.sym_not((x > 0).all().item()))
    return x + 1


def _a_truth_value_used_before(x: Tensor, y: Tensor) -> Any:
    holds: Any = (x > 0).all().item()
    double = x * holds
    check(holds)
    return double, x + holds


def _a_count_used_before(x: Tensor, y: Tensor) -> Any:
    rows: Any = _count(x)
    zeros = torch.zeros(rows)
    check(rows == 3)
    return zeros + 1, x * rows, torch.full((rows,), 2.0)


def _a_size_used_before(x: Tensor, y: Tensor) -> Any:
    rows: Any = _count(x)
    zeros = torch.zeros(rows)
    check(rows == x.shape[0])
    return zeros + x[:, 0], torch.ones(rows, 2)


def _rows_that_data_decides(x: Tensor, y: Tensor) -> Any:
    found: Any = x.clamp(min=0).nonzero()
    check(found.shape[0] == 3)
    return found * 2


def _at_most_as_many_rows(x: Tensor, y: Tensor) -> Any:
    check((x > 0).nonzero().shape[0] <= 2)
    return x + 1


def _rows_of_nothing_else(x: Tensor, y: Tensor) -> Any:
    check((x > 0).nonzero().shape[0] == y.shape[0] - 1)
    return x + 1


def _a_mask_that_leaves_three(x: Tensor, y: Tensor) -> Any:
    found: Any = x[x > 0]
    check(found.shape[0] == 3)
    return found + torch.ones(3)


def _repeated_to_three(x: Tensor, y: Tensor) -> Any:
    repeated = torch.repeat_interleave(x[:, 0], (x[:, 0] > 0).long())
    check(repeated.shape[0] == 3)
    return x + 1


def _as_many_rows_as_the_input(x: Tensor, y: Tensor) -> Any:
    found: Any = x.clamp(min=0).nonzero()
    check(found.shape[0] == x.shape[0])
    return found * 2


def _beside_a_masked_write(x: Tensor, y: Tensor) -> Any:
    library._check_tensor_all(x > 0)
    result = x.clone()
    result[result > 1] = 0.0
    return result


def _beside_a_written_row(x: Tensor, y: Tensor) -> Any:
    library._check_with(ValueError, library._is_all_true(x > 0).item(), lambda: "all are positive")
    result = x.clone()
    result[1] = y[0]
    return result


def _beside_a_written_row_after_any(x: Tensor, y: Tensor) -> Any:
    check(library._is_any_true(x > 0).item())
    result = x.clone()
    result[1] = y[0]
    return result


FORMS: Sequence[Function] = (
    _all,
    _data_with_data,
    _equal_data,
    _one_number,
    _one_float,
    _below_a_number,
    _below_a_size,
    _equals_a_size,
    _equals_a_sum_of_sizes,
    _data_equals_a_size,
    _two_counts,
    _follows_from_another,
    _tensor_all,
    _any_tensor_true,
    _conjunction,
    _disjunction,
    _negation,
    _a_truth_value_used_before,
    _a_count_used_before,
    _a_size_used_before,
    _rows_that_data_decides,
    _at_most_as_many_rows,
    _rows_of_nothing_else,
    _a_mask_that_leaves_three,
    _repeated_to_three,
    _as_many_rows_as_the_input,
    _beside_a_masked_write,
    _beside_a_written_row,
    _beside_a_written_row_after_any,
)
NOT_SAVED: dict[Function, tuple[type[Exception], str]] = {
    _one_float: (TypeError, "not JSON serializable"),
    _rows_of_nothing_else: (AssertionError, "expected no unbacked symbols"),
}
"""What PyTorch's own `.pt2` files do not take."""


def _name(part: Function | str) -> str:
    return part if isinstance(part, str) else part.__name__


def _exported(function: Function, is_dynamic: bool, is_saved: bool) -> ExportedProgram:
    library._dynamo.reset()
    shapes = DYNAMIC if is_dynamic else None
    program = torch.export.export(_Model(function), (torch.ones(3, 1), torch.ones(4, 1)), dynamic_shapes=shapes, strict=False)
    if not is_saved:
        return program
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    return torch.export.load(file)


def _outcome(run: Callable[[list[Any]], Any], inputs: Sequence[Tensor]) -> list[Any] | None:
    """The outputs of a run; None where it refuses its inputs."""
    try:
        return [item.clone() if isinstance(item, Tensor) else item for item in leaves(run([item.clone() for item in inputs]))]
    except (*REFUSALS, ValueError):
        return None


def _drawn(draw: random.Random, function: Function, is_dynamic: bool, most: int = 4) -> list[tuple[list[Tensor], list[Any] | None]]:
    """Inputs that the function accepts and such that it refuses, each with what it gives."""
    found: dict[bool, list[tuple[list[Tensor], list[Any] | None]]] = {True: [], False: []}

    def run(given: Sequence[Tensor]) -> Any:
        return function(*given)

    for _ in range(400):
        rows = [draw.randint(2, 5), draw.randint(2, 5)] if is_dynamic else [3, 4]
        low, high = draw.choice(((-1, 2), (0, 1), (1, 1), (1, 2), (0, 2)))
        inputs = [torch.tensor([[float(draw.randint(low, high))] for _ in range(number)]) for number in rows]
        outcome = _outcome(run, inputs)
        side = found[outcome is not None]
        if len(side) < most:
            side.append((inputs, outcome))
    return [*found[True], *found[False]] if found[True] and found[False] else []


def _compare(program: ExportedProgram, drawn: Sequence[tuple[list[Tensor], list[Any] | None]]) -> None:
    for engine, run in engines(program):
        for inputs, expected in drawn:
            outcome = _outcome(run, inputs)
            assert (outcome is None) == (expected is None), f"{engine}: {inputs}"
            assert outcome is None or expected is None or difference(outcome, expected) is None, f"{engine}: {inputs}"


@pytest.mark.parametrize(("function", "way"), dealt(FORMS, ("static", "dynamic", "saved")), ids=_name)
def test_a_program_refuses_the_data_that_pytorch_refuses(function: Function, way: str) -> None:
    if way == "saved" and function in NOT_SAVED:
        error, words = NOT_SAVED[function]
        with pytest.raises(error, match=words):
            _exported(function, True, True)
        return
    program = _exported(function, way != "static", way == "saved")
    drawn = _drawn(random.Random(function.__name__), function, way != "static")
    assert drawn
    _compare(program, drawn)


class _OnLines(nn.Module):
    def __init__(self, number: int):
        super().__init__()
        self.number = number

    def forward(self, x: Tensor, y: Tensor) -> Any:
        match self.number:
            case 0:
                check((x > 0).all().item())
            case 1:
                check(_count(x) == 3)
            case 2:
                check(_count(x) == x.shape[0])
            case 3:
                library._check_tensor_all(x > 0)
            case 4:
                check(x.sum().item() == 3.0)
            case _:
                found: Any = x.clamp(min=0).nonzero()
                check(found.shape[0] == x.shape[0])
        return x + 1


WORDS = ("must be true", "== 3 must hold", "== rows must hold", "must be true", ">= 3.0", "== rows must hold")
"""What the refusals of `_OnLines` say."""


@pytest.mark.parametrize("number", range(len(WORDS)))
def test_a_refusal_says_what_and_where(number: int, capfd: pytest.CaptureFixture[str]) -> None:
    model, inputs = _OnLines(number), [torch.zeros(4, 1), torch.ones(4, 1)]
    program = torch.export.export(model, (torch.ones(3, 1), torch.ones(4, 1)), dynamic_shapes=DYNAMIC, strict=False)
    with pytest.raises(RuntimeError) as expected:
        model(*inputs)
    frames = inspect.getinnerframes(expected.tb)
    line = next(frame.lineno for frame in frames if frame.function == "forward" and frame.filename == __file__)
    for engine, run in engines(program):
        capfd.readouterr()
        with pytest.raises(REFUSALS) as caught:
            run(inputs)
        said = capfd.readouterr().err if engine == PEER else str(caught.value)
        if not engine.startswith("numpy"):
            assert WORDS[number] in said, engine
        if engine.startswith("C runtime"):
            assert f"test_checks.py:{line - (number == 5)})" in said, engine


class _Counted(nn.Module):
    def forward(self, n: int, x: Tensor, m: int) -> Tensor:
        check(x.shape[0] <= 9)
        check(n == x.shape[0])
        check(m == x.shape[0])
        return x * n


def test_integers_of_the_caller_that_are_sizes() -> None:
    dims = Dim.AUTO, {0: Dim.AUTO}, Dim.AUTO
    program = torch.export.export(_Counted(), (3, torch.ones(3, 1), 3), dynamic_shapes=dims, strict=False)
    for engine, run in engines(program):
        if engine == PEER:
            continue  # it takes no other integer than the program holds
        assert torch.equal(torch.as_tensor(run([4, torch.ones(4, 1), 4])[0]), torch.full((4, 1), 4.0)), engine
        for n, m in ((3, 4), (4, 3)):
            with pytest.raises(REFUSALS, match=f"{'n' if n == 3 else 'm'} == s"):
                run([n, torch.ones(4, 1), m])


# Conditions at random

COMPARISONS: Sequence[Callable[[Any, Any], Any]] = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


def _number(draw: random.Random) -> Callable[[Tensor, Tensor], Any]:
    """An integer that data decides."""
    which, limit = draw.randrange(2), draw.randint(-1, 1)
    factor, offset = draw.choice((1, 1, 1, 2)), draw.choice((0, 0, 0, 1, -1))

    def number(x: Tensor, y: Tensor) -> Any:
        found: Any = ((x, y)[which] > limit).sum().item()
        return found if (factor, offset) == (1, 0) else found * factor + offset

    return number


def _condition(draw: random.Random, depth: int) -> Callable[[Tensor, Tensor], Any]:
    """A condition on two tensors."""
    kind = draw.choice(
        ("all", "any", "tensors", "with a number", "with a size", "of numbers", "float") + ("and", "or", "not") * (depth > 0)
    )
    which, limit, compare = draw.randrange(2), draw.randint(-1, 1), draw.choice(COMPARISONS)
    match kind:
        case "all":
            return lambda x, y: compare((x, y)[which], limit).all().item()
        case "any":
            return lambda x, y: compare((x, y)[which], limit).any().item()
        case "tensors":
            return lambda x, y: compare(x.sum(), (y.max(), y.sum())[which]).item()
        case "with a number":
            number = _number(draw)
            return lambda x, y: compare(number(x, y), limit + 2)
        case "with a size":
            number = _number(draw)
            return lambda x, y: compare(number(x, y), (x, y)[which].shape[0] + limit)
        case "of numbers":
            first, second = _number(draw), _number(draw)
            return lambda x, y: compare(first(x, y), second(x, y))
        case "float":
            return lambda x, y: compare((x, y)[which].sum().item(), limit + 2.0)
        case "not":
            inner = _condition(draw, depth - 1)
            return lambda x, y: library.sym_not(inner(x, y))
        case _:
            join: Callable[[Any, Any], Any] = (lambda a, b: a & b) if kind == "and" else (lambda a, b: a | b)
            first, second = (_condition(draw, depth - 1) for _ in range(2))
            return lambda x, y: join(first(x, y), second(x, y))


def _checked(draw: random.Random) -> Function:
    """A model that checks one condition or two, and computes with what it checked."""
    conditions = [_condition(draw, 2) for _ in range(draw.randint(1, 2))]
    is_all, limit, number = draw.random() < 0.2, draw.randint(-1, 0), _number(draw)

    def function(x: Tensor, y: Tensor) -> Any:
        found = number(x, y)
        for condition in conditions:
            check(condition(x, y))
        if is_all:
            library._check_tensor_all(x > limit)
        return x * found, y + 1

    return function


@pytest.mark.parametrize("seed", range(24))
def test_conditions_at_random(seed: int) -> None:
    draw, is_dynamic = random.Random(seed), seed % 4 != 0
    function, drawn = _checked(draw), []
    while not (drawn := _drawn(draw, function, is_dynamic)):
        function = _checked(draw)
    program = _exported(function, is_dynamic, False)
    module = program.module()

    def run(given: Sequence[Tensor]) -> Any:
        return module(*given)

    for inputs, expected in drawn:
        assert (_outcome(run, inputs) is None) == (expected is None), "PyTorch keeps the condition"
    _compare(program, drawn)


@pytest.mark.parametrize("message", ["m", "tanh", "none", "", "a sentence", "two\nlines"])
@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_a_message_of_any_words_is_said(message: str, target: str):
    class Said(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            library._assert_async((x > 0).all(), message)
            return x + 1

    edge = to_edge(torch.export.export(Said(), (torch.ones(3),)), compile_config=EdgeCompileConfig(target=target))
    program = edge.to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method()
    assert method.execute([torch.ones(3)])[0].tolist() == [2, 2, 2]
    wrong = -np.ones(3, np.float32)
    for run in (lambda: method.execute([wrong]), lambda: interpret(program.module, program.context).run("forward", [wrong])):
        with pytest.raises(REFUSALS) as refused:
            run()
        text = str(refused.value)
        assert all(word in text for word in message.split()) and "gelu" not in text and "approximate" not in text
