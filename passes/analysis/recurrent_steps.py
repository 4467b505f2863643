"""Steps of recurrent layers, as their decompositions write them."""

from __future__ import annotations

from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, MulTensorOp
from flambeau.dialects.aten.layers.activation import SigmoidOp, TanhOp
from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.aten.movement.split import SplitWithSizesOp
from flambeau.passes.rewriting import matching as m


class LstmStep:
    """The graph of a step of long short-term memory: of its hidden state, before which it computes its memory.

    Attributes:
        hidden: the operation of the next hidden state, in which the graph ends.
        following: the operation of the next memory.
        product: the linear layer of the hidden state.
        memory: the last memory.
        projected: the projection of the input.
        sizes: those of the four gates in the sum of both.
    """

    def __init__(self) -> None:
        self.memory, self.projected, self.sizes = m.value(), m.value(), m.attribute()
        self.product = m.op(LinearOp, ...)
        summed = m.op(AddTensorOp, self.product, self.projected).commutative()
        gates = m.op(SplitWithSizesOp, summed, split_sizes=self.sizes, dim=1)
        opened, forgotten, told = (m.op(SigmoidOp, gates.result(index)) for index in (0, 1, 3))
        kept = m.op(MulTensorOp, forgotten, self.memory).commutative()
        learnt = m.op(MulTensorOp, opened, m.op(TanhOp, gates.result(2))).commutative()
        self.following = m.op(AddTensorOp, kept, learnt).commutative()
        self.hidden = m.op(MulTensorOp.at("edge"), told, m.op(TanhOp, self.following)).commutative()
