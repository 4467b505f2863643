"""Recurrent layers and cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, NamedTuple, cast

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import element_of_array, sigmoid, to_float, widened
from flambeau.dialects.aten.linear_algebra.matmul import common_element, require_rank
from flambeau.dialects.aten.movement.shape import expanded_shape
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, numpy_dtype, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, NUMBERS, float_element, require_shape
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


class Cell(NamedTuple):
    """The parameters of one layer in one direction; an absent parameter is None."""

    w_ih: Any
    w_hh: Any
    b_ih: Any = None
    b_hh: Any = None
    w_hr: Any = None
    """Projects the hidden state to a smaller one."""


def cells(params: Sequence[Any], has_biases: bool, num_layers: int, bidirectional: bool) -> list[Cell]:
    """Returns the parameters, layer after layer, forward before backward. Raises ValueError."""
    count = num_layers * (2 if bidirectional else 1)
    size, rest = divmod(len(params), count) if count > 0 else (0, 1)
    plain = 4 if has_biases else 2
    if rest or size not in (plain, plain + 1):
        raise ValueError(f"{len(params)} parameters do not make up {count} cells")
    groups = [params[index * size : (index + 1) * size] for index in range(count)]
    if has_biases:
        return [Cell(*group) for group in groups]
    return [Cell(group[0], group[1], None, None, *group[2:]) for group in groups]


def require_step(gates: int, x: Tensor, states: Sequence[Tensor], cell: Cell) -> None:
    """Raises ValueError when the input, the states and the parameters of one step do not fit each other."""
    batch, features = require_rank(x, 2, "the input of a step")
    rows, hidden = require_rank(cell.w_hh, 2, "the weight of the hidden state")
    size = hidden if cell.w_hr is None else rows // gates
    require_shape("the weight of the hidden state", cell.w_hh, (gates * size, hidden))
    require_shape("the weight of the input", cell.w_ih, (gates * size, features))
    require_shape("the weight of the projection", cell.w_hr, (hidden, size))
    for bias in (cell.b_ih, cell.b_hh):
        if bias is not None:
            expanded_shape(shape_of(bias), (batch, gates * size))
    for state, extent in zip(states, (hidden, size), strict=False):
        require_shape("a state", state, (batch, extent))


def apart(gates: SSAValue, count: int) -> list[SSAValue]:
    """Returns the gates apart, built detached."""
    size = shape_of(gates)[-1] // count
    return list(aten.split_with_sizes.results(gates, (size,) * count, len(shape_of(gates)) - 1))


class CellFamily:
    """One step of a kind of cell, on SSA values and on arrays."""

    gates: ClassVar[int] = 1
    states: ClassVar[int] = 1

    @staticmethod
    def step(projected: SSAValue, state: list[SSAValue], cell: Cell) -> list[SSAValue]:
        """Returns the next state from the input's projection and the last state, built detached."""
        raise NotImplementedError

    @staticmethod
    def numpy_step(projected: Array, state: list[Array], cell: Cell) -> list[Array]:
        """Returns the same for arrays."""
        raise NotImplementedError


def product_of(x: Array, weight: Array, bias: Array | None) -> Array:
    """Returns a linear layer on wide arrays."""
    result = x @ widened(weight).T
    return result if bias is None else result + widened(bias)


class LstmCell(CellFamily):
    """Long short-term memory: gates i, f, g, o; states h and c."""

    gates = 4
    states = 2

    @staticmethod
    def step(projected: SSAValue, state: list[SSAValue], cell: Cell) -> list[SSAValue]:
        """Returns the memory f·c + i·g and the hidden state o·tanh(memory)."""
        hidden, memory = state
        summed = aten.add.Tensor(aten.linear(hidden, cell.w_hh, cell.b_hh), projected)
        i, f, g, o = apart(summed, 4)
        kept = aten.mul.Tensor(aten.sigmoid(f), memory)
        memory = aten.add.Tensor(kept, aten.mul.Tensor(aten.sigmoid(i), aten.tanh(g)))
        hidden = aten.mul.Tensor(aten.sigmoid(o), aten.tanh(memory))
        return [hidden if cell.w_hr is None else aten.linear(hidden, cell.w_hr), memory]

    @staticmethod
    def numpy_step(projected: Array, state: list[Array], cell: Cell) -> list[Array]:
        """Returns the memory f·c + i·g and the hidden state o·tanh(memory)."""
        hidden, memory = state
        i, f, g, o = np.split(product_of(hidden, cell.w_hh, cell.b_hh) + projected, 4, axis=-1)
        memory = sigmoid(f) * memory + sigmoid(i) * np.tanh(g)
        hidden = sigmoid(o) * np.tanh(memory)
        return [hidden if cell.w_hr is None else product_of(hidden, cell.w_hr, None), memory]


class GruCell(CellFamily):
    """Gated recurrent unit: gates r, z, n."""

    gates = 3

    @staticmethod
    def step(projected: SSAValue, state: list[SSAValue], cell: Cell) -> list[SSAValue]:
        """Returns the state n + z·(h - n) with n = tanh(x_n + r·h_n)."""
        (hidden,) = state
        x_r, x_z, x_n = apart(projected, 3)
        h_r, h_z, h_n = apart(aten.linear(hidden, cell.w_hh, cell.b_hh), 3)
        reset, update = aten.sigmoid(aten.add.Tensor(x_r, h_r)), aten.sigmoid(aten.add.Tensor(x_z, h_z))
        fresh = aten.tanh(aten.add.Tensor(x_n, aten.mul.Tensor(reset, h_n)))
        return [aten.add.Tensor(fresh, aten.mul.Tensor(update, aten.sub.Tensor(hidden, fresh)))]

    @staticmethod
    def numpy_step(projected: Array, state: list[Array], cell: Cell) -> list[Array]:
        """Returns the state n + z·(h - n) with n = tanh(x_n + r·h_n)."""
        (hidden,) = state
        x_r, x_z, x_n = np.split(projected, 3, axis=-1)
        h_r, h_z, h_n = np.split(product_of(hidden, cell.w_hh, cell.b_hh), 3, axis=-1)
        fresh = np.tanh(x_n + sigmoid(x_r + h_r) * h_n)
        return [fresh + sigmoid(x_z + h_z) * (hidden - fresh)]


class TanhCell(CellFamily):
    """The plain cell: tanh of the sum of both projections."""

    @staticmethod
    def step(projected: SSAValue, state: list[SSAValue], cell: Cell) -> list[SSAValue]:
        """Returns the tanh of the sum."""
        return [aten.tanh(aten.add.Tensor(aten.linear(state[0], cell.w_hh, cell.b_hh), projected))]

    @staticmethod
    def numpy_step(projected: Array, state: list[Array], cell: Cell) -> list[Array]:
        """Returns the tanh of the sum."""
        return [np.tanh(to_float(product_of(state[0], cell.w_hh, cell.b_hh) + projected))]


class ReluCell(CellFamily):
    """The plain cell with a ReLU."""

    @staticmethod
    def step(projected: SSAValue, state: list[SSAValue], cell: Cell) -> list[SSAValue]:
        """Returns the positive part of the sum."""
        return [aten.relu(aten.add.Tensor(aten.linear(state[0], cell.w_hh, cell.b_hh), projected))]

    @staticmethod
    def numpy_step(projected: Array, state: list[Array], cell: Cell) -> list[Array]:
        """Returns the positive part of the sum."""
        return [np.maximum(product_of(state[0], cell.w_hh, cell.b_hh) + projected, 0)]


class RecurrentOp(SchemaOp):
    """Recurrent layers over a sequence: all hidden states of the last layer, then the last states of every layer and direction."""

    cell: ClassVar[type[CellFamily]]
    """The computation of one step."""

    @staticmethod
    def states_of(hx: Any) -> list[Any]:
        """Returns the initial states as a list."""
        return list(cast("list[Any]", hx)) if isinstance(hx, list) else [hx]

    @classmethod
    def checked(cls, shape: Sequence[int], state: Sequence[int], parameters: Sequence[Cell], batch_first: bool) -> int:
        """Returns the dimension of time. Raises ValueError."""
        if len(shape) != 3 or len(state) != 3:
            raise ValueError(f"input {list(shape)} and initial state {list(state)} must both have 3 dimensions")
        if state[0] != len(parameters):
            raise ValueError(f"the initial state {list(state)} must have one entry per layer and direction, {len(parameters)}")
        return int(batch_first)

    @classmethod
    def infer(
        cls,
        x: Tensor,
        /,
        hx: Tensor | list[Tensor],
        params: list[Tensor],
        has_biases: bool,
        num_layers: int,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Tensor, ...]:
        parameters = cells(params, has_biases, num_layers, bidirectional)
        states = cls.states_of(hx)
        if len(states) != cls.cell.states:
            raise ValueError(f"needs {cls.cell.states} initial states, got {len(states)}")
        shape, state = shape_of(x), shape_of(states[0])
        time = cls.checked(shape, state, parameters, batch_first)
        if shape[time] == 0:
            raise ValueError(f"the sequence in input {list(shape)} must have at least one step")
        element = common_element(x, *states, *params)
        directions = 2 if bidirectional else 1
        features = shape[-1]
        for number, cell in enumerate(parameters):
            if number == directions:
                features = state[-1] * directions
            step = tensor(element, (shape[1 - time], features))
            require_step(cls.cell.gates, step, [tensor(element, shape_of(each)[1:]) for each in states], cell)
        output = (*shape[:-1], state[-1] * directions)
        return (tensor(element, output), *(tensor(element, shape_of(each)) for each in states))

    @classmethod
    def numpy(
        cls,
        x: Array,
        /,
        hx: Array | list[Array],
        params: list[Array],
        has_biases: bool,
        num_layers: int,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[Array, ...]:
        parameters = cells(params, has_biases, num_layers, bidirectional)
        states = cls.states_of(hx)
        time = cls.checked(x.shape, states[0].shape, parameters, batch_first)
        sequence = np.moveaxis(widened(x), time, 0)
        finals: list[list[Array]] = []
        for _ in range(num_layers):
            directions: list[Array] = []
            for direction in range(2 if bidirectional else 1):
                number = len(finals)
                cell = parameters[number]
                projected = product_of(sequence, cell.w_ih, cell.b_ih)
                state = [widened(each[number]) for each in states]
                outputs: list[Array] = []
                for step in projected[:: -1 if direction else 1]:
                    state = cls.cell.numpy_step(step, state, cell)
                    outputs.append(state[0])
                finals.append(state)
                directions.append(np.stack(outputs[:: -1 if direction else 1]))
            sequence = np.concatenate(directions, axis=-1)
        lasts = [np.stack([final[index] for final in finals]).astype(x.dtype) for index in range(cls.cell.states)]
        return (np.moveaxis(sequence, 0, time).astype(x.dtype), *lasts)

    @classmethod
    def decompose(
        cls,
        x: SSAValue,
        /,
        hx: SSAValue | list[SSAValue],
        params: list[SSAValue],
        has_biases: bool,
        num_layers: int,
        dropout: float,
        train: bool,
        bidirectional: bool,
        batch_first: bool,
    ) -> tuple[SSAValue, ...]:
        if train and dropout and num_layers > 1:
            raise ValueError("a recurrent layer with dropout is for training; export the model after .eval()")
        parameters = cells(params, has_biases, num_layers, bidirectional)
        states = cls.states_of(hx)
        time = cls.checked(shape_of(x), shape_of(states[0]), parameters, batch_first)
        length = shape_of(x)[time]
        if not is_known(length):
            raise ValueError("the sequence's length must be known: a recurrent layer is unrolled over it")
        finals: list[list[SSAValue]] = []
        for _ in range(num_layers):
            directions: list[SSAValue] = []
            for direction in range(2 if bidirectional else 1):
                number = len(finals)
                cell = parameters[number]
                # One product projects the inputs of all steps.
                projected = aten.linear(x, cell.w_ih, cell.b_ih)
                state: list[SSAValue] = [aten.select.int(each, 0, number) for each in states]
                outputs: list[SSAValue] = []
                for step in range(length)[:: -1 if direction else 1]:
                    state = cls.cell.step(aten.select.int(projected, time, step), state, cell)
                    outputs.append(state[0])
                finals.append(state)
                directions.append(aten.stack(outputs[:: -1 if direction else 1], time))
            x = aten.cat(directions, -1) if len(directions) > 1 else directions[0]
        return (x, *(aten.stack([final[index] for final in finals]) for index in range(cls.cell.states)))


@aten(
    "lstm.input(Tensor input, Tensor[] hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first) -> (Tensor, Tensor, Tensor)"
)
class LstmInputOp(RecurrentOp):
    """Layers of long short-term memory."""

    takes = FLOATS
    cell = LstmCell


@aten(
    "gru.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first) -> (Tensor, Tensor)"
)
class GruInputOp(RecurrentOp):
    """Layers of gated recurrent units."""

    takes = FLOATS
    cell = GruCell


@aten(
    "rnn_tanh.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first) -> (Tensor, Tensor)"
)
class RnnTanhInputOp(RecurrentOp):
    """Layers of plain cells with tanh."""

    takes = FLOATS
    cell = TanhCell


@aten(
    "rnn_relu.input(Tensor input, Tensor hx, Tensor[] params, bool has_biases, int num_layers, float dropout, bool train, "
    "bool bidirectional, bool batch_first) -> (Tensor, Tensor)"
)
class RnnReluInputOp(RecurrentOp):
    """Layers of plain cells with ReLU."""

    takes = NUMBERS
    cell = ReluCell


class RecurrentCellOp(SchemaOp):
    """One step of a cell."""

    cell: ClassVar[type[CellFamily]]
    """The computation of one step."""

    @staticmethod
    def element(element: ElementType) -> ElementType:
        """Returns the element type of the next states, from that of the operands."""
        return element

    @classmethod
    def infer(
        cls, x: Tensor, /, hx: Tensor | list[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
    ) -> Any:
        states = RecurrentOp.states_of(hx)
        if len(states) != cls.cell.states:
            raise ValueError(f"needs {cls.cell.states} states, got {len(states)}")
        require_step(cls.cell.gates, x, states, Cell(w_ih, w_hh, b_ih, b_hh))
        element = common_element(x, *states, w_ih, w_hh, *(bias for bias in (b_ih, b_hh) if bias is not None))
        results = [tensor(cls.element(element), shape_of(state)) for state in states]
        return tuple(results) if len(results) > 1 else results[0]

    @classmethod
    def numpy(cls, x: Array, /, hx: Array | list[Array], w_ih: Array, w_hh: Array, b_ih: Array | None, b_hh: Array | None) -> Any:
        states = [widened(state) for state in RecurrentOp.states_of(hx)]
        results = cls.cell.numpy_step(product_of(widened(x), w_ih, b_ih), states, Cell(w_ih, w_hh, b_ih, b_hh))
        rounded = [result.astype(numpy_dtype(cls.element(element_of_array(x)))) for result in results]
        return tuple(rounded) if len(rounded) > 1 else rounded[0]

    @classmethod
    def decompose(
        cls, x: SSAValue, /, hx: SSAValue | list[SSAValue], w_ih: SSAValue, w_hh: SSAValue, b_ih: SSAValue | None, b_hh: SSAValue | None
    ) -> Any:
        results = cls.cell.step(aten.linear(x, w_ih, b_ih), RecurrentOp.states_of(hx), Cell(w_ih, w_hh, b_ih, b_hh))
        return tuple(results) if len(results) > 1 else results[0]


@aten("lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> (Tensor, Tensor)")
class LstmCellOp(RecurrentCellOp):
    """One step of long short-term memory: the next hidden state and the next cell state."""

    takes = FLOATS
    cell = LstmCell


@aten("gru_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor")
class GruCellOp(RecurrentCellOp):
    """One step of a gated recurrent unit."""

    takes = FLOATS
    cell = GruCell


@aten("rnn_tanh_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor")
class RnnTanhCellOp(RecurrentCellOp):
    """One step of a plain cell with tanh; integers give the default float."""

    takes = NUMBERS
    cell = TanhCell

    @staticmethod
    def element(element: ElementType) -> ElementType:
        return float_element(element)


@aten("rnn_relu_cell(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor")
class RnnReluCellOp(RecurrentCellOp):
    """One step of a plain cell with ReLU."""

    takes = NUMBERS
    cell = ReluCell
