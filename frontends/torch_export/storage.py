"""Finds the memory behind views, for `as_strided`, whose offset and strides count elements of that memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import torch
from torch import fx

from flambeau.frontends.torch_export.exported_graph import FlatProgram, Step, nodes_in
from flambeau.frontends.torch_export.functionalization import Variable, meta_copy, only_metadata, run_on_meta, shares_memory
from flambeau.frontends.torch_export.imported_operators import UnsupportedError
from flambeau.frontends.torch_export.values import dense_order

_NO_BASE = "it reads memory outside of the tensors of the program, or of one whose place in memory is not known; index the tensor instead"


@dataclass(frozen=True)
class Storage:
    """A tensor that covers all of its memory, with the order of its dimensions in memory."""

    node: fx.Node
    order: tuple[int, ...]
    """The dimensions in memory order, outermost first."""
    size: int
    """The size of the memory in elements."""

    @property
    def is_row_major(self) -> bool:
        """Returns whether the memory holds the elements in row-major order."""
        return list(self.order) == sorted(self.order)

    def check_bounds(self, offset: int, size: Sequence[int], stride: Sequence[int]) -> None:
        """Raises UnsupportedError if a view with this offset, size and stride (in elements) exceeds the memory."""
        last = offset + sum((extent - 1) * step for extent, step in zip(size, stride, strict=True))
        if 0 not in size and last >= self.size:
            raise UnsupportedError(f"it reads element {last} of the memory of {self.node.name!r}, which has {self.size} elements")


class Storages:
    """The storages of a program's tensors."""

    def __init__(self, program: FlatProgram, variables: dict[fx.Node, Variable]):
        self._steps: dict[fx.Node, Step] = {}
        self._variables = variables
        self._reshaped = [step for step in program.steps if step.overload is not None and only_metadata(step.overload)]
        self.add(program)

    def add(self, program: FlatProgram) -> None:
        """Adds the tensors of the decomposition of a call."""
        self._steps.update((step.node, step) for step in program.steps)

    def find(self, step: Step) -> Storage:
        """Returns the tensor whose elements are the memory of the first operand of `step`.

        Raises UnsupportedError if the program has none.
        """
        base: fx.Node = step.args[0]
        while base in self._steps and (viewed := self._viewed(self._steps[base])) is not None:
            base = viewed
        value: torch.Tensor = base.meta["val"]
        order = dense_order(value) if value.storage_offset() == 0 else None
        before = takewhile(lambda other: other is not step, self._reshaped)
        if order is None or any(self._variables[other.node] is self._variables[base] for other in before):
            raise UnsupportedError(_NO_BASE)
        return Storage(base, order, value.numel())

    def _viewed(self, step: Step) -> fx.Node | None:
        """Returns the operand whose memory the step's result shares."""
        if step.is_getitem:
            return self._viewed(self._steps[step.args[0]])
        if step.overload is None:
            return None
        copies: Sequence[Any] = meta_copy(step.args)
        result = run_on_meta(step.overload, copies, {key: meta_copy(item) for key, item in step.kwargs.items()})
        shared = [node for given, copy in zip(step.args, copies, strict=True) if shares_memory(result, copy) for node in nodes_in(given)]
        return shared[0] if len(shared) == 1 else None
