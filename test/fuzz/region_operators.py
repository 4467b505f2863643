"""Control flow without Dynamo: what PyTorch's operators mean, and calls of the operators themselves, which `torch.export` traces.

Dynamo takes most of the time of the usual calls, in eager mode too. What it adds is that a region may capture values: it hands them to the
operator, as `_captured` does here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib import import_module
from types import CellType, FunctionType
from typing import Any, cast

import torch
from torch import Tensor

_OPERATORS: Any = torch.ops.higher_order
_associative_scan = import_module("torch._higher_order_ops.associative_scan")
Function = Callable[..., Any]


def _items(given: Any) -> tuple[Any, ...]:
    return tuple(cast("Sequence[Any]", given)) if isinstance(given, tuple | list) else (given,)


def _plain_branch(predicate: Tensor, on_true: Function, on_false: Function, operands: Sequence[Tensor]) -> Any:
    return (on_true if predicate else on_false)(*operands)


def _plain_loop(test: Function, body: Function, carried: Sequence[Tensor]) -> Any:
    while test(*carried):
        carried = body(*carried)
    return carried


def _plain_rows(body: Function, xs: Tensor) -> Any:
    return tuple(map(torch.stack, zip(*(_items(body(row)) for row in xs), strict=True)))


def _plain_steps(body: Function, start: Tensor, xs: Tensor, *, reverse: bool = False) -> Any:
    given: list[Tensor] = []
    for row in xs.flip(0) if reverse else xs:
        start, result = body(start, row)
        given.append(result)
    stacked = torch.stack(given)
    return start, stacked.flip(0) if reverse else stacked


def _plain_together(combine: Function, xs: Tensor) -> Tensor:
    given = [xs[0]]
    for row in xs[1:]:
        given.append(combine(given[-1], row))
    return torch.stack(given)


PLAIN: dict[str, Function] = {
    "branch": _plain_branch,
    "loop": _plain_loop,
    "rows": _plain_rows,
    "steps": _plain_steps,
    "together": _plain_together,
}
"""What the operators mean, in Python."""


def _captured(operands: Sequence[Any], *functions: Function) -> tuple[list[Any], list[Function]]:
    """The values that functions capture, and the functions with these as their last parameters instead.

    `torch.export` takes no value twice: one of `operands` is captured as a copy.
    """
    values: list[Any] = []
    places: dict[int, int] = {}
    for function in functions:
        for cell in cast(FunctionType, function).__closure__ or ():
            if isinstance(cell.cell_contents, Tensor | torch.SymInt) and id(cell.cell_contents) not in places:
                places[id(cell.cell_contents)] = len(values)
                values.append(cell.cell_contents)
    given = {id(item) for item in operands if isinstance(item, Tensor)}
    copies = [item.clone() if id(item) in given else item for item in values]
    return copies, [_with_parameters(cast(FunctionType, function), places) for function in functions]


def _with_parameters(function: FunctionType, places: dict[int, int]) -> Function:
    def call(*arguments: Any) -> Any:
        own, extra = arguments[: len(arguments) - len(places)], arguments[len(arguments) - len(places) :]
        cells = [
            CellType(extra[places[id(cell.cell_contents)]]) if id(cell.cell_contents) in places else cell
            for cell in function.__closure__ or ()
        ]
        return FunctionType(function.__code__, function.__globals__, function.__name__, None, tuple(cells))(*own)

    return call


def _branch(predicate: Tensor, on_true: Function, on_false: Function, operands: Sequence[Any]) -> Any:
    extra, functions = _captured(operands, on_true, on_false)
    return _OPERATORS.cond(predicate, *functions, (*operands, *extra))


def _loop(test: Function, body: Function, carried: Sequence[Any]) -> Any:
    extra, functions = _captured(carried, test, body)
    return _OPERATORS.while_loop(*functions, tuple(carried), tuple(extra))


def _rows(body: Function, xs: Tensor) -> Any:
    extra, (function,) = _captured([xs], body)
    return _OPERATORS.map_impl(function, [xs], extra)


def _steps(body: Function, start: Tensor, xs: Tensor, *, reverse: bool = False) -> Any:
    extra, (function,) = _captured([start, xs], body)
    last, given = _OPERATORS.scan(function, [start], [xs.flip(0) if reverse else xs], tuple(extra))
    return last, given.flip(0) if reverse else given


def _together(combine: Function, xs: Tensor) -> Tensor:
    return cast(Any, _associative_scan).generic_associative_scan(combine, [xs])[0]


TRACED: dict[str, Function] = {"branch": _branch, "loop": _loop, "rows": _rows, "steps": _steps, "together": _together}
"""The operators themselves, for `torch.export`."""
