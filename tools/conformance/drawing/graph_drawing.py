"""Draws random graphs for a backend: operators on their samples, each reading earlier results, in float types, layouts and sizes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.builtin import FunctionType, ModuleOp, SymbolRefAttr, UnitAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue

from flambeau.dialects.edge.dim_order import ToDimOrderCopyOp
from flambeau.dialects.edge.layout import CHANNELS_LAST, is_row_major, with_dim_order
from flambeau.dialects.edge.stored_arrays import stored_array
from flambeau.dialects.ir.expressions import Symbol, of_symbol
from flambeau.dialects.ir.extents import Extent, extent, is_known
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.passes.analysis.operator_table import OperatorTable, is_constant, is_dequantized_constant
from flambeau.runtime.interpreter import FunctionProgram, InterpreterError, MethodProgram, interpret
from flambeau.support.lazy import Array
from flambeau.tools.conformance.drawing.graph import REFUSED_SAMPLES, STAYS, Graph, may_stay, why_not
from flambeau.tools.conformance.drawing.operator_choices import Operator, element_names
from flambeau.tools.samples.sample_generators import FLOATS
from flambeau.tools.samples.sample_operations import converted, type_of
from flambeau.tools.semantics.result_comparison import TOLERANCES, Rounding, Steps, noise_of

MOST_ELEMENTS = 4096
"""Of one tensor of a graph."""
LARGEST = 1e4
"""The magnitude of the largest float of a graph: beyond it, vendors' libraries differ."""
_SAMPLES = 3
"""The most samples of a drawn operator that are tried, until the backend takes one."""
_ROUNDS = 8
"""How often the samples of the first operator of a graph are tried: a table may refuse the values that are drawn for them."""
_IMAGES = 4
"""How often an operator that reads images is drawn, where another is drawn once: few of its samples fit."""
_APPROXIMATION = 0.005
"""How much of the tolerance the approximation of a function may take."""
_AROUND = 0.5
"""The scale of the error of an approximated function of one number whose result is smaller."""
_STEADY = 0.25
"""How much of the tolerance may be lost to rounding."""


@dataclass
class Value:
    """A value of a graph, with its content in the first call."""

    ssa: SSAValue
    array: Array
    noisy: list[Array]


@dataclass(frozen=True)
class Role:
    """The place of a value among the arguments of an operator."""

    operator: Operator
    argument: str
    is_constant: bool


@dataclass
class New:
    """The values and operations that an operation under construction adds to the graph."""

    values: list[Value] = field(default_factory=list[Value])
    before: list[Operation] = field(default_factory=list[Operation])
    """The operations that define some of the values."""
    after: list[Operation] = field(default_factory=list[Operation])
    """The operations that follow."""
    constants: dict[SSAValue, Array] = field(default_factory=dict[SSAValue, Array])


class Drawing:
    """A graph under construction.

    Attributes:
        runs: the number of computations in which each number is moved as far as rounding may move it.
        stay: how often some of the operators stay on the CPU, if several can.
        keep_refused: how often an operator that the table refuses is in the graph.
    """

    runs: ClassVar[int] = 2
    stay: ClassVar[float] = 0.3
    keep_refused: ClassVar[float] = 0.1

    def __init__(self, table: OperatorTable, operators: Sequence[Operator], seed: int):
        self.table = table
        self.operators = operators
        self.chosen = random.Random(seed)
        self.rounding, self.noise = Rounding(seed), np.random.default_rng(seed)
        self.context, self.block = FlambeauContext(), Block()
        self.module = ModuleOp([])
        self.values: list[Value] = []
        self.inputs: list[Value] = []
        self.results: list[SSAValue] = []
        self.taken: list[tuple[Operator, SchemaOp]] = []
        self.taken_ops: set[Operation] = set()
        self.first: SchemaOp | None = None
        """The operator of the graph's number, which the backend gets."""
        self.drawn = 0
        """The number of drawn operators that the backend may take."""
        self.unsteady: set[SSAValue] = set()
        """The results that cannot be compared."""
        self.known: dict[type[Operation], Operator] = {operator.kind: operator for operator in operators}
        self.refused: Counter[tuple[str, str]] = Counter()
        elements = element_names(table)
        self.element = elements[0] if self.chosen.random() < 0.5 else self.chosen.choice(elements)
        self.is_channels_last = self.chosen.random() < 0.3
        self.sizes = self.chosen.choice(("known", "known", "one", "all")) if not table.tensors.static else "known"
        self.open: dict[int, Symbol] = {}
        """The symbols that stand for sizes."""

    # Values

    def input_type(self, array: Array, is_static: bool) -> Tensor:
        """Returns the type of an input, perhaps with sizes that are dynamic in this graph, or of an image in another layout."""
        if not is_static:
            self.open_sizes(array.shape)
        sizes = [extent(of_symbol(self.open[size])) if size in self.open and not is_static else size for size in array.shape]
        kind = tensor(element_of(type_of(array)), sizes)
        is_image = self.is_channels_last and array.ndim == 4 and self.chosen.random() < 0.7
        return with_dim_order(kind, CHANNELS_LAST) if is_image else kind

    def open_sizes(self, shape: Sequence[int]) -> None:
        """Makes sizes of a shape dynamic, if those of the graph are."""
        candidates = [size for size in shape if size > 1 and size not in self.open]
        if self.sizes == "all" or (self.sizes == "one" and not self.open):
            for size in candidates if self.sizes == "all" else candidates[:1]:
                self.open[size] = Symbol(f"s{size}", self.chosen.choice((0, 1, 1, 1, 2)), 2 * size)

    def value_for(self, array: Array, new: New, role: Role, existing: float, is_static: bool) -> SSAValue:
        """Returns a value like an array of a sample: an existing one, a constant, or a new input."""
        is_constant = role.is_constant
        if array.dtype.name in FLOATS:
            array = converted(array, self.element)
        array = np.array(array, order="C")
        alike = [value for value in self.values if value.array.dtype == array.dtype] if not is_constant else []
        if alike and self.chosen.random() < existing:
            same = [value for value in alike if value.array.shape == array.shape]
            ranked = [value for value in alike if value.array.ndim == array.ndim]
            fitting = same if same and self.chosen.random() < 0.7 else ranked if ranked and self.chosen.random() < 0.7 else alike
            return self.chosen.choice(fitting[-5:]).ssa
        if is_constant or self.chosen.random() < 0.1:
            new.values.append(self.constant(array, new))
            return new.values[-1].ssa
        return self.input(array, new, is_static)

    def constant(self, array: Array, new: New) -> Value:
        """Returns a new constant."""
        load = GlobalLoadConstantOp(SymbolRefAttr(f"constant_{len(self.block.ops)}_{len(new.before)}"), type_of(array))
        new.before.append(load)
        new.constants[load.result] = array
        return self.noisy(load.result, array)

    def input(self, array: Array, new: New, is_static: bool) -> SSAValue:
        """Returns a new input of the graph."""
        argument = self.block.insert_arg(self.input_type(array, is_static), len(self.block.args))
        new.values.append(self.noisy(argument, array))
        return argument

    def noisy(self, ssa: SSAValue, array: Array) -> Value:
        """Returns a constant or an input, with its content in the noisy computations."""
        return Value(ssa, array, [self.moved(array, run) for run in range(self.runs)])

    def moved(self, array: Array, run: int, op: Operation | None = None) -> Array:
        """Returns an array perturbed as by rounding: relative to each number and, for approximated functions, slightly to the largest.

        If `op` may be a function of one number, it may compute a difference of numbers around 1.
        """
        moved = cast(Array, self.rounding.moved(array))
        tolerance = TOLERANCES.get(array.dtype.name)
        if tolerance is None or not np.isfinite(wide := array.astype(np.float64)).all():
            return moved
        is_function = isinstance(op, SchemaOp) and op.elementwise and len(op.operands) == 1
        by = _APPROXIMATION * tolerance * float(np.abs(wide).max(initial=_AROUND if is_function else 0))
        noise = cast(Array, np.asarray(cast(Any, self.noise.uniform(-by, by, array.shape))))
        return np.asarray(moved.astype(np.float64) + noise).astype(array.dtype)

    # Operations

    def add(self, operator: Operator, sample: Sequence[Any], existing: float, is_static: bool, given: Sequence[SSAValue] = ()) -> bool:
        """Adds an operator on a sample, with given values for its first tensors. Returns whether the backend takes it."""
        new, op = New(), None
        try:
            op = self.operation(operator, sample, new, existing, is_static, given)
            op.verify_()
            results = self.computed(op, new)
            results = None if results is None else self.followed(results, new)
        except REFUSED_SAMPLES:
            self.forget(op, new)
            return False
        stays = (reason := why_not(self.table, op)) is not None
        if reason is not None:
            self.refused[operator.name, reason] += 1
        read = (value.owner for value in op.operands)
        spoils = any(isinstance(item, Operation) and item in self.taken_ops and why_not(self.table, item) is not None for item in read)
        # `fold-constants` evaluates operators on constants before backends choose operators.
        folds = bool(op.operands) and all(is_constant(value) or is_dequantized_constant(value) for value in op.operands)
        if results is None or spoils or folds or (stays and (self.chosen.random() >= self.keep_refused or not may_stay(self.table, op))):
            self.forget(op, new)
            return False
        for item in new.before:
            if isinstance(item, GlobalLoadConstantOp):
                self.keep(item, new.constants[item.result])
        self.block.add_ops([*new.before, op, *new.after])
        self.inputs += [value for value in new.values if value.ssa.owner is self.block]
        self.values += [*new.values, *results]
        around = (item for item in (*new.before, *new.after) if isinstance(item, SchemaOp))
        self.taken += [(self.known[type(item)], item) for item in around if type(item) in self.known]
        if stays:
            return False
        self.taken.append((operator, op))
        self.taken_ops.add(op)
        self.drawn += 1
        return True

    def followed(self, results: list[Value], new: New) -> list[Value]:
        """Returns the values that later operators may read in place of the results of a new operation."""
        return results

    def operation(
        self, operator: Operator, sample: Sequence[Any], new: New, existing: float, is_static: bool, given: Sequence[SSAValue]
    ) -> SchemaOp:
        """Returns an operator on values like those of a sample."""
        arguments: list[Any] = []
        left = list(given)
        for argument, item in zip(operator.kind.schema.arguments, sample, strict=True):
            is_folded = argument.name in operator.rule.folded and self.chosen.random() < 0.5
            role = Role(operator, argument.name, is_folded or argument.name in operator.rule.constants)
            if isinstance(item, np.ndarray):
                value = left.pop(0) if left else self.value_for(cast(Array, item), new, role, existing, is_static)
                arguments.append(self.in_layout_for(operator, value, new))
            elif argument.type.is_tensor and isinstance(item, list):
                values = (
                    None if part is None else self.value_for(part, new, role, existing, is_static) for part in cast("list[Any]", item)
                )
                arguments.append([None if value is None else self.in_layout_for(operator, value, new) for value in values])
            elif isinstance(item, tuple) and "size" in argument.name and argument.type.base == "int":
                arguments.append(self.opened(cast("tuple[int, ...]", item)))
            else:
                arguments.append(item)
        return operator.kind(*arguments)

    def in_layout_for(self, operator: Operator, value: SSAValue, new: New) -> SSAValue:
        """Returns a value in a layout that an operator can read: only elementwise ones take layouts other than row-major."""
        if is_row_major(value) or (operator.kind.elementwise and self.chosen.random() < 0.5):
            return value
        copy = ToDimOrderCopyOp(value, dim_order=tuple(range(len(shape_of(value)))))
        new.before.append(copy)
        known = next(item for item in (*new.values, *self.values) if item.ssa is value)
        new.values.append(Value(copy.result, known.array, known.noisy))
        return copy.result

    def opened(self, sizes: tuple[int, ...]) -> tuple[int, ...]:
        """Replaces some sizes by the symbols that stand for them."""
        is_open = self.chosen.random() < 0.6
        return tuple(extent(of_symbol(self.open[size])) if is_open and size in self.open else size for size in sizes)

    def computed(self, op: SchemaOp, new: New, others: Sequence[Value] = ()) -> list[Value] | None:
        """Returns the results in the first call; None if the first is too large, extreme, made of extremes, or dominated by rounding.

        Others that are, such as the indices of a pool, are left out: nothing reads or returns them. The operation reads values of the
        graph, new ones and `others`.
        """
        known = {value.ssa: value for value in (*self.values, *new.values, *others)}
        operands = [known[operand] for operand in op.operands]
        runs = [self.meaning(op, [value.array for value in operands])]
        runs += [self.meaning(op, [value.noisy[index] for value in operands]) for index in range(self.runs)]
        found: list[Value] = []
        for place, result in enumerate(op.results):
            array = runs[0][place]
            noisy = [self.moved(run[place], index, op) for index, run in enumerate(runs[1:])]
            # Results that are not empty, of empty operands: some kernels do not write sums and products without terms.
            is_made_of_nothing = array.size and any(not value.array.size for value in operands)
            # Libraries differ in the places of numbers that are none, and in what integers are of what they cannot hold.
            is_made_of_extremes = array.dtype.kind in "iu" and any(_is_extreme(value.array) for value in operands)
            if array.size > MOST_ELEMENTS or is_made_of_nothing or is_made_of_extremes or not self.is_steady(array, noisy):
                if not place:
                    return None
                self.unsteady.add(result)
                continue
            found.append(Value(result, array, noisy))
        return found

    def is_steady(self, array: Array, noisy: Sequence[Array]) -> bool:
        """Returns whether the noisy computations of an array leave something to compare."""
        return is_steady(array, noisy)

    def meaning(self, op: SchemaOp, arrays: Sequence[Array]) -> list[Array]:
        """Returns the results of an operation in the first call."""
        arguments = [_known(argument) for argument in op.bind(arrays, op.properties)]
        with np.errstate(all="ignore"):
            return [np.asarray(result) for result in flat_results(op.call("numpy", arguments))]

    def keep(self, load: GlobalLoadConstantOp, array: Array) -> None:
        """Adds a constant to the module."""
        name, kind = load.global_attr.string_value(), cast(Tensor, load.result.type)
        data = stored_array(array, kind).reshape(-1).view(np.uint8).data
        self.module.body.block.add_op(GlobalOp(name, kind, self.context.blobs.add(name, data)))

    def forget(self, op: SchemaOp | None, new: New) -> None:
        """Removes what an operation under construction has added."""
        for item in (*new.before, *([op] if op is not None else []), *new.after):
            item.drop_all_references()
        for value in reversed(new.values):
            if value.ssa.owner is self.block:
                self.block.erase_arg(cast(Any, value.ssa))

    def accepts_return_of(self, op: SchemaOp, result: SSAValue) -> bool:
        """Returns whether the table still takes an operation whose result is returned."""
        probe = ReturnOp(result)
        reason = why_not(self.table, op)
        probe.drop_all_references()
        return reason is None

    def read(self, op: SchemaOp) -> None:
        """Adds a random operator that reads the result of `op`. The backend takes `op` only if the function does not return this result."""
        for _ in range(3 * len(self.operators)):
            reader = self.chosen.choice(self.operators)
            if not reader.samples:
                continue
            if self.add(reader, self.chosen.choice(reader.samples), 0.5, False, op.results[:1]):
                return

    def draw(self, size: int | None, number: int) -> None:
        """Adds operators, the first of which is that of the number if the backend takes any of its samples."""
        size = size or self.chosen.choice((1, 2, 3, 5, 8, 12))
        root = self.operators[number % len(self.operators)]
        orders = (self.chosen.sample(root.samples, len(root.samples)) for _ in range(_ROUNDS))
        for sample in (sample for order in orders for sample in order):
            self.first = self.add_and_read(root, sample, ((0, False), (0, True)))
            if self.first is not None:
                break
        shares = [_IMAGES if operator.reads_images else 1 for operator in self.operators]
        for _ in range(6 * size):
            if self.drawn >= size:
                break
            (operator,) = self.chosen.choices(self.operators, shares)
            for sample in self.chosen.sample(operator.samples, min(len(operator.samples), _SAMPLES)):
                if self.add_and_read(operator, sample, ((1, False), (0.7, False), (0.5, True))) is not None:
                    break

    def add_and_read(self, operator: Operator, sample: Sequence[Any], ways: Sequence[tuple[float, bool]]) -> SchemaOp | None:
        """Adds an operator and reads its result, trying several ways in order. Returns its operation; None if the backend takes none."""
        if not any(self.add(operator, sample, existing, is_static) for existing, is_static in ways):
            return None
        _, op = self.taken[-1]
        if not op.results[0].uses and not self.accepts_return_of(op, op.results[0]):
            self.read(op)
        return op

    def returned(self) -> Iterator[SSAValue]:
        """Yields the results of the function."""
        for op in list(self.block.ops):
            is_taken = isinstance(op, SchemaOp) and why_not(self.table, op) is None
            for place, result in enumerate(op.results if isinstance(op, SchemaOp) else ()):
                if result in self.unsteady:
                    continue
                if is_taken and not self.accepts_return_of(cast(SchemaOp, op), result) and (place or result.uses):
                    continue
                if (not result.uses and (not place or self.chosen.random() < 0.5)) or self.chosen.random() < 0.1:
                    yield result
                    if self.chosen.random() < 0.05:
                        yield result
        if self.inputs and self.chosen.random() < 0.1:
            yield self.chosen.choice(self.inputs).ssa

    def finish(self, seed: int) -> Graph | None:
        """Returns the graph; None if nothing was drawn."""
        values = list(self.returned())
        if not values:
            return None
        self.results = values
        self.block.add_op(ReturnOp(*values))
        taken = [(operator, op) for operator, op in self.taken if why_not(self.table, op) is None]
        others = [op for _, op in taken if op is not self.first and may_stay(self.table, op)]
        if len(others) > 1 and self.chosen.random() < self.stay:
            for op in self.chosen.sample(others, self.chosen.choice((1, 1, 2))):
                op.attributes[STAYS] = UnitAttr()
        function = FunctionType.from_lists(self.block.arg_types, [value.type for value in values])
        self.module.body.block.add_op(FuncOp("forward", function, Region(self.block)))
        graph = Graph(seed, self.kind(), self.module, self.context, [], [], [], Counter(), self.refused)
        graph.operators.update(operator.name for operator, op in taken if STAYS not in op.attributes)
        for inputs in self.calls():
            self.call(graph, inputs)
        return graph if graph.calls else None

    def kind(self) -> str:
        """Returns the kind of the graph, in words."""
        return f"{self.element}, {'channels last' if self.is_channels_last else 'contiguous'}, sizes {self.sizes}"

    def calls(self) -> Iterator[list[Array]]:
        """Yields the inputs of calls: those of the samples, and others if sizes are dynamic."""
        values = [next(value for value in self.inputs if value.ssa is argument) for argument in self.block.args]
        yield [_in_layout(value.array, value.ssa) for value in values]
        if self.open:
            sizes = {symbol.name: self.chosen.randint(max(1, int(symbol.low)), int(symbol.high)) for symbol in self.open.values()}
            yield [_in_layout(_resized(value.array, shape_of(value.ssa), sizes), value.ssa) for value in values]

    def call(self, graph: Graph, inputs: list[Array]) -> None:
        """Adds a call, unless its results cannot be compared."""
        try:
            program = interpret(graph.module, graph.context)
            found = cast("list[Array]", program.run("forward", inputs))
            noisy = [self.noisy_results(program, inputs, run) for run in range(self.runs)]
        except InterpreterError:
            return  # for example, an index is out of range with fewer rows
        if all(self.is_steady(array, [run[place] for run in noisy]) for place, array in enumerate(found)):
            graph.calls.append(inputs)
            graph.expected.append(found)
            graph.steps.append(self.steps(found, noisy))

    def noisy_results(self, program: FunctionProgram | MethodProgram, inputs: Sequence[Array], run: int) -> list[Array]:
        """Returns the results of the graph in a noisy computation."""
        moved = [self.moved(array, run) for array in inputs]
        return cast("list[Array]", program.run("forward", moved, lambda op, found: [self.moved(array, run, op) for array in found]))

    def steps(self, found: Sequence[Array], noisy: Sequence[Sequence[Array]]) -> list[Steps | None]:
        """Returns how far each result may be from what was found, if it depends on quantized numbers."""
        return [None for _ in found]


def is_steady(array: Array, noisy: Sequence[Array]) -> bool:
    """Returns whether an array holds no extreme numbers, and rounding changes fewer elements than a comparison allows."""
    if (tolerance := TOLERANCES.get(array.dtype.name)) is None:
        return all(np.array_equal(array, other) for other in noisy)
    noise = noise_of(array, noisy)
    wide = array.astype(np.float64)
    return bool((np.abs(wide) <= LARGEST).all() and (noise is None or (noise <= _STEADY * tolerance * np.abs(wide).max(initial=0)).all()))


def _is_extreme(array: Array) -> bool:
    """Returns whether an array has floats that are not drawn as results."""
    return array.dtype.name in TOLERANCES and not bool((np.abs(array.astype(np.float64)) <= LARGEST).all())


def _known(argument: Any) -> Any:
    """Returns an argument with the sizes of the first call in place of its extents, where the symbol `s3` is 3."""
    if isinstance(argument, tuple):
        return tuple(_known(item) for item in cast("tuple[Any, ...]", argument))
    if type(argument) is not Extent:
        return argument
    assert argument.expression is not None
    return argument.expression.evaluate({symbol.name: int(symbol.name[1:]) for symbol in argument.expression.symbols})


def _resized(array: Array, shape: Sequence[int], sizes: dict[str, int]) -> Array:
    """Returns the array with other dynamic sizes; entries are repeated to fill them."""
    for axis, size in enumerate(shape):
        if not is_known(size):
            wanted = cast(Extent, size).expression
            assert wanted is not None
            array = array.take([place % array.shape[axis] for place in range(wanted.evaluate(sizes))], axis)
    return array


def _in_layout(array: Array, value: SSAValue) -> Array:
    """Returns the array in the memory layout of its type."""
    if is_row_major(value):
        return np.ascontiguousarray(array) if array.ndim else array
    return np.ascontiguousarray(array.transpose(CHANNELS_LAST)).transpose(np.argsort(CHANNELS_LAST))
