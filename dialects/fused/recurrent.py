"""Fused steps of recurrent layers."""

from __future__ import annotations

from flambeau.dialects.aten.layers.rnn import Cell, LstmCell
from flambeau.dialects.fused.packing import PANEL, panels, unpack_gates
from flambeau.dialects.ir.tensor_types import Tensor, element_of, f32, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array


@row(
    "fused",
    "flambeau",
    "lstm_step(Tensor hidden, Tensor memory, Tensor projected, Tensor packed_weight, Tensor? bias) -> (Tensor, Tensor)",
)
class FusedLstmStepOp(SchemaOp):
    """One step of long short-term memory: the next hidden state and memory, [batch, size], from the input's projection [batch, 4 * size].

    The weight of the hidden state has the rows of the four gates side by side, in blocks of 16 elements of the state.
    """

    takes = frozenset((f32,))

    @staticmethod
    def infer(hidden: Tensor, memory: Tensor, projected: Tensor, packed: Tensor, /, bias: Tensor | None) -> tuple[Tensor, Tensor]:
        require_same_element(hidden, memory, projected, packed, bias)
        state, gates = shape_of(memory), shape_of(projected)
        if len(state) != 2 or shape_of(hidden) != state or gates != (state[0], 4 * state[1]):
            raise ValueError(f"states {list(shape_of(hidden))} and {list(state)} do not fit the projection {list(gates)} of four gates")
        expected = (panels(state[1]), state[1], 4 * PANEL)
        if shape_of(packed) != expected:
            raise ValueError(f"packed_weight must have the shape {list(expected)}, got {list(shape_of(packed))}")
        if bias is not None and shape_of(bias) != (4 * state[1],):
            raise ValueError(f"bias must have the shape {[4 * state[1]]}, got {list(shape_of(bias))}")
        return tensor(element_of(memory), state), tensor(element_of(memory), state)

    @staticmethod
    def numpy(hidden: Array, memory: Array, projected: Array, packed: Array, /, bias: Array | None) -> tuple[Array, Array]:
        weight = unpack_gates(packed, 4, memory.shape[1])
        following = LstmCell.numpy_step(projected, [hidden, memory], Cell(None, weight, None, bias))
        return following[0].astype(memory.dtype), following[1].astype(memory.dtype)
