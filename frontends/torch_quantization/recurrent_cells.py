"""Recurrent cells as linear layers, one for each gate, so that each has numbers of its own and no split stands between integers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import torch
import torch.nn.functional as F
from torch import Tensor

_ATEN = torch.ops.aten
_Layers: TypeAlias = "Callable[[int], Tensor]"


def _layers(x: Tensor, weight: Tensor, bias: Tensor | None, gates: int) -> _Layers:
    """Returns the linear layer of each gate by its number."""
    size = weight.shape[0] // gates

    def layer(gate: int) -> Tensor:
        rows = slice(gate * size, (gate + 1) * size)
        return F.linear(x, weight[rows], None if bias is None else bias[rows])

    return layer


def gru_cell(x: Tensor, hidden: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None) -> Tensor:
    """The next state of a gated recurrent unit."""
    given, kept = _layers(x, w_ih, b_ih, 3), _layers(hidden, w_hh, b_hh, 3)
    reset, update = (torch.sigmoid(given(gate) + kept(gate)) for gate in (0, 1))
    new = torch.tanh(given(2) + reset * kept(2))
    return new + update * (hidden - new)


def lstm_cell(
    x: Tensor, state: list[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The next hidden state and the next cell of a long short-term memory."""
    hidden, cell = state
    given, kept = _layers(x, w_ih, b_ih, 4), _layers(hidden, w_hh, b_hh, 4)
    put, forget, new, output = (given(gate) + kept(gate) for gate in range(4))
    cell = torch.sigmoid(forget) * cell + torch.sigmoid(put) * torch.tanh(new)
    return torch.sigmoid(output) * torch.tanh(cell), cell


CELLS: Mapping[Any, Callable[..., Any]] = {_ATEN.gru_cell.default: gru_cell, _ATEN.lstm_cell.default: lstm_cell}
"""The decompositions of cells."""
