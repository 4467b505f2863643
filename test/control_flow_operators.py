"""PyTorch's control flow operators, with the types that PyTorch leaves out."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, TypeVarTuple

import torch
from torch import Tensor

Ts = TypeVarTuple("Ts")
Carried = TypeVar("Carried")
Entry = TypeVar("Entry")

if TYPE_CHECKING:

    def branch(predicate: Tensor | bool, on_true: Callable[[*Ts], Any], on_false: Callable[[*Ts], Any], operands: tuple[*Ts]) -> Any:
        """`torch.cond`."""

    def loop(test: Callable[[*Ts], Any], body: Callable[[*Ts], Any], carried: tuple[*Ts]) -> Any:
        """`while_loop`."""

    def rows(body: Callable[[Tensor, *Ts], Any], xs: Tensor, *extra: *Ts) -> Any:
        """`map`."""

    def steps(body: Callable[[Carried, Entry], Any], start: Carried, xs: Entry, *, reverse: bool = False) -> Any:
        """`scan`."""

    def together(combine: Callable[[Tensor, Tensor], Any], xs: Tensor) -> Any:
        """`associative_scan`."""
else:
    import torch._higher_order_ops as operators

    branch, loop, rows, steps = torch.cond, operators.while_loop, operators.map, operators.scan

    def together(combine, xs):
        return operators.associative_scan(combine, xs, 0, combine_mode="generic")
