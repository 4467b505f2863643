"""The parameters, buffers and constants of exported programs as globals of one module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from xdsl.ir import Operation

from flambeau.dialects.ir.diagnostics import warn
from flambeau.dialects.ir.tensor_types import Tensor
from flambeau.dialects.ml_program import GlobalOp
from flambeau.frontends.torch_export.values import Weights, array_of, is_fake, tensor_type_of


@dataclass
class GlobalState:
    """A parameter, a buffer or a constant of the program."""

    symbol: str
    key: str
    tensor: torch.Tensor
    type: Tensor
    is_named: bool
    """Whether the model has a name for the tensor: True for parameters and buffers, False for constants."""
    is_mutable: bool = False
    is_used: bool = False
    apart: str = ""
    """Why this state is not merged with another state of the same name; empty if there is none."""


@dataclass
class Globals:
    """The globals of a module. Each pair of a name in the model and a tensor has one global."""

    weights: Weights
    reserved: set[str]
    _states: dict[tuple[Any, ...], GlobalState] = field(default_factory=dict[tuple[Any, ...], GlobalState])

    def find(self, key: str, value: torch.Tensor, *, is_named: bool = False) -> GlobalState:
        """Returns the global for a tensor under its name in the model. Raises TypeError for a tensor whose type programs cannot hold."""
        if cast(Any, torch)._C._functorch.is_functorch_wrapped_tensor(value):
            raise TypeError(
                "it is a value inside of torch.func.grad or a transform like it, which PyTorch's export took for a constant; "
                "write the derivative out, or leave the transform outside of the model"
            )
        if is_fake(value):
            raise TypeError("it has no data; load the weights before the export")
        if is_traceable_wrapper_subclass(value):
            kind = type(value)
            raise TypeError(
                f"a {kind.__name__} is not a plain tensor, and PyTorch's run_decompositions({{}}) does not make plain tensors of it; "
                f"replace it before the export, as torchao.utils.unwrap_tensor_subclass(model) does"
            )
        identity = (key, *Weights.identity(value))
        state = self._states.get(identity)
        if state is None:
            symbol, count = key, 0
            while symbol in self.reserved:
                count += 1
                symbol = f"{key}_{count}"
            self.reserved.add(symbol)
            state = self._states[identity] = GlobalState(symbol, symbol, value, tensor_type_of(value), is_named)
        return state

    def join_states(self) -> None:
        """Merges the states of one buffer that some methods write and others know by another name, or by its name if read from files.

        The memory of a buffer identifies it, but not in a file. Programs are of one model if all parameters and buffers that they hold
        under one name are equal.
        """
        named: dict[str, list[GlobalState]] = {}
        for (key, *_), state in self._states.items():
            if state.is_named:
                named.setdefault(key, []).append(state)
        unlike = [key for key, (one, *others) in named.items() if not all(_are_equal(one, other) for other in others)]
        first: dict[object, GlobalState] = {}
        for (key, *memory), state in sorted(self._states.items(), key=lambda item: not item[1].is_mutable):
            known = first.get(tuple(memory)) or (first.get(key) if state.is_named and not unlike else None)
            if known is not None:
                state.symbol, state.is_used, state.is_mutable = known.symbol, False, True
                continue
            if state.is_named and key in first:
                state.apart = f"it is not the state {key!r} that another method writes, where {unlike[0]!r} is another tensor"
            if state.is_mutable:
                first[key] = first[tuple(memory)] = state

    def ops(self) -> list[Operation]:
        """Returns the globals that some method uses."""
        found: list[Operation] = []
        for state in self._states.values():
            if state.is_used:
                found.append(GlobalOp(state.symbol, state.type, self.weights.add(state.key, state.tensor), is_mutable=state.is_mutable))
            if state.is_used and state.apart:
                warn(found[-1], state.apart)
        return found


def _are_equal(one: GlobalState, other: GlobalState) -> bool:
    """Returns whether two globals hold the same bytes, so that a NaN equals itself."""
    if one.type != other.type:
        return False
    first, second = (array_of(state.tensor).reshape(-1).view("uint8") for state in (one, other))
    return bool((first == second).all())
