"""The parameters, buffers and constants of exported programs as globals of one module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from xdsl.ir import Operation

from flambeau.dialects.ir.tensor_types import Tensor
from flambeau.dialects.ml_program import GlobalOp
from flambeau.frontends.torch_export.values import Weights, is_fake, tensor_type_of


@dataclass
class GlobalState:
    """A parameter, a buffer or a constant of the program."""

    symbol: str
    key: str
    tensor: torch.Tensor
    type: Tensor
    is_mutable: bool = False
    is_used: bool = False


@dataclass
class Globals:
    """The globals of the module, by the tensors they hold."""

    weights: Weights
    reserved: set[str]
    _states: dict[tuple[Any, ...], GlobalState] = field(default_factory=dict[tuple[Any, ...], GlobalState])

    def find(self, key: str, value: torch.Tensor) -> GlobalState:
        """The global for a tensor under its name in the model. Raises TypeError for tensors without a type here."""
        if is_fake(value):
            raise TypeError("it has no data; load the weights before the export")
        if is_traceable_wrapper_subclass(value):
            raise TypeError(f"a {type(value).__name__} is not a plain tensor")
        identity = (key, *Weights.identity(value))
        state = self._states.get(identity)
        if state is None:
            symbol, count = key, 0
            while symbol in self.reserved:
                count += 1
                symbol = f"{key}_{count}"
            self.reserved.add(symbol)
            state = self._states[identity] = GlobalState(symbol, symbol, value, tensor_type_of(value))
        return state

    def join_states(self) -> None:
        """Makes one state of a buffer that some method writes and others know by another name, or by its name where they come from files.

        The memory of a buffer tells what it is, but not in a file. Programs are of one model if all that they hold under one name is equal.
        """
        named: dict[str, list[GlobalState]] = {}
        for (key, *_), state in self._states.items():
            named.setdefault(key, []).append(state)
        alike = ((found[0], other) for key, found in named.items() if key != "constant" for other in found[1:])
        one_model = all(one.type == other.type and torch.equal(one.tensor, other.tensor) for one, other in alike)
        first: dict[object, GlobalState] = {}
        for (key, *memory), state in sorted(self._states.items(), key=lambda item: not item[1].is_mutable):
            known = first.get(tuple(memory)) or (first.get(key) if one_model else None)
            if known is not None:
                state.symbol, state.is_used, state.is_mutable = known.symbol, False, True
            elif state.is_mutable:
                first[key] = first[tuple(memory)] = state

    def ops(self) -> list[Operation]:
        """The globals that some method uses."""
        return [
            GlobalOp(state.symbol, state.type, self.weights.add(state.key, state.tensor), is_mutable=state.is_mutable)
            for state in self._states.values()
            if state.is_used
        ]
