"""Draws random graphs of quantized numbers as PT2E writes them: integers dequantized, computed with in floats, and quantized again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from xdsl.dialects.builtin import UnitAttr, i8, i16
from xdsl.ir import Attribute, Block, Operation, SSAValue

from flambeau.dialects.ir.tensor_types import dtype_of, f32, same_shape, shape_of, tensor, ui8, ui16
from flambeau.dialects.quantized_decomposed.quantize import RANGES, DequantizePerChannelOp, DequantizePerTensorOp, QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable, first_reason
from flambeau.support.lazy import Array
from flambeau.tools.conformance.drawing.graph import STAYS, may_stay, why_not
from flambeau.tools.conformance.drawing.graph_drawing import LARGEST, Drawing, New, Role, Value
from flambeau.tools.conformance.drawing.operator_choices import Operator
from flambeau.tools.samples.sample_generators import FLOATS
from flambeau.tools.samples.sample_operations import converted
from flambeau.tools.semantics.result_comparison import TOLERANCES, Steps

MOST_STEPS = 8
"""The most steps by which an integer may move because the integers before it move by one step each."""
LEAST_SCALE = 2.0**-12
"""The smallest scale of a calibrator (that of PT2E's observers for XNNPACK's kind of device), of integers of 8 bits."""
_BYTE_LEVELS = 255
_HALF_BYTE_STEP = 2**7
"""Half a step of int8, in steps of int16: by so much a function by a table may be away from it."""
_LIMITING = ("relu", "clamp", "hardtanh")
"""The operators that are often between another operator and its quantization."""


@dataclass(frozen=True)
class Meaning:
    """The numbers that the integers of a tensor stand for."""

    element: Attribute
    scale: float
    zero_point: int

    @property
    def numbers(self) -> tuple[float, int, int, int, Attribute]:
        """The arguments of `quantize_per_tensor` and `dequantize_per_tensor` behind the tensor."""
        return self.scale, self.zero_point, *RANGES[self.element], self.element

    def fits(self, array: Array) -> bool:
        """Returns whether floats are in the range, and take at least a quarter of it."""
        low, high = ((limit - self.zero_point) * self.scale for limit in RANGES[self.element])
        least, most = float(array.min(initial=0)), float(array.max(initial=0))
        return low - self.scale / 2 <= least and most <= high + self.scale / 2 and 4 * (most - least) >= high - low

    @staticmethod
    def of(array: Array, element: Attribute, is_symmetric: bool) -> Meaning:
        """Returns the meaning that a calibrator chooses for floats. Raises ValueError if they are extreme."""
        if not (np.abs(array) <= LARGEST).all():
            raise ValueError("a calibrator has found no range")
        low, high = RANGES[element]
        least, most = float(array.min(initial=0)), float(array.max(initial=0))
        middle = (low + high + 1) // 2
        wide = 2 * max(-least, most) if is_symmetric else most - least
        scale = max(float(np.float32(wide / (high - low))), _least_scale(element))
        return Meaning(element, scale, middle if is_symmetric else min(max(low - round(least / scale), low), high))


def _levels(element: Attribute) -> int:
    """Returns the number of steps between the least and the greatest integer of a type."""
    low, high = RANGES[element]
    return high - low


def _least_scale(element: Attribute) -> float:
    return LEAST_SCALE * _BYTE_LEVELS / _levels(element)


def storages_of(table: OperatorTable) -> list[Attribute]:
    """Returns the element types that a table takes for quantized numbers, of int8, uint8, and between integers those of 16 bits.

    There are none if it lacks one of the conversions.
    """
    if table.integers:
        return [element for element in (i8, ui8, i16, ui16) if element in table.activations]
    rules = [table.rule(kind) for kind in (QuantizePerTensorOp, DequantizePerTensorOp)]
    found: list[Attribute] = []
    for element in (i8, ui8):
        quantize = QuantizePerTensorOp(Block(arg_types=[tensor(f32, (2,))]).args[0], *Meaning(element, 0.5, 0).numbers)
        dequantize = DequantizePerTensorOp(quantize.result, *Meaning(element, 0.5, 0).numbers, None)
        conversions = zip(rules, (quantize, dequantize), strict=True)
        if all(rule is not None and first_reason(rule.limits, op) is None for rule, op in conversions):
            found.append(element)
    return found


class QuantizedDrawing(Drawing):
    """A graph of quantized numbers under construction: its inputs, weights and results are integers, and some of them floats."""

    runs = 6
    stay = 0.5
    keep_refused = 0.3

    def __init__(self, table: OperatorTable, operators: Sequence[Operator], seed: int):
        super().__init__(table, operators, seed)
        self.operators = [operator for operator in operators if operator.kind.level() != QuantizePerTensorOp.level()]
        self.limiting = [operator for operator in self.operators if operator.kind.schema.base in _LIMITING and operator.samples]
        self.element, self.is_channels_last = "float32", False
        self.storages = storages_of(table)
        self.storage = self.chosen.choice(self.storages)
        self.has_byte_weights = i8 in (table.weights if table.integers else self.storages)
        self.meanings: list[Meaning] = []
        self.integers: dict[SSAValue, Value] = {}
        self.spans: list[tuple[SchemaOp, SSAValue, SSAValue]] = []
        """Operations that read dequantized integers, with what they read, and their own result, quantized and dequantized."""

    def kind(self) -> str:
        """Returns the kind of the graph, in words."""
        return f"quantized to {dtype_of(self.storage).numpy}, sizes {self.sizes}"

    # Values

    def value_for(self, array: Array, new: New, role: Role, existing: float, is_static: bool) -> SSAValue:
        """Returns a value like an array of a sample: a dequantized one, a float one, a weight, or a bias."""
        is_layer = role.argument in role.operator.rule.dequantized and self.has_byte_weights
        is_weight = is_layer or (role.argument == "weight" and array.ndim > 1 and i8 in self.storages)
        if array.dtype.name in FLOATS and is_weight and self.chosen.random() < 0.85:
            return self.weight(converted(array, self.element), new)
        value = super().value_for(array, new, role, existing, is_static)
        owner = value.owner
        if not isinstance(owner, DequantizePerTensorOp) or owner.operands[0] not in self.integers or self.chosen.random() < 0.8:
            return value
        return self.dequantized(self.integers[owner.operands[0]], _meaning(owner), new, new.before).ssa

    def weight(self, array: Array, new: New) -> SSAValue:
        """Returns a new dequantized constant, with a scale for the tensor or for each entry of a dimension."""
        per_channel = self.known.get(DequantizePerChannelOp)
        if per_channel is None or not array.ndim or self.chosen.random() < 0.4:
            meaning = Meaning(i8, Meaning.of(array, i8, is_symmetric=True).scale, 0)
            return self.dequantized(self.constant(_quantized(array, meaning), new), meaning, new, new.before).ssa
        axis = 0 if self.chosen.random() < 0.8 else self.chosen.randrange(array.ndim)
        others = tuple(dim for dim in range(array.ndim) if dim != axis)
        scales = np.maximum(np.abs(array).max(others) / 127, LEAST_SCALE).astype(np.float32)
        shape = [-1 if dim == axis else 1 for dim in range(array.ndim)]
        integers = np.rint(array / scales.reshape(shape)).clip(-127, 127).astype(np.int8)
        constants = [self.constant(item, new) for item in (integers, scales, np.zeros(len(scales), np.int64))]
        op = DequantizePerChannelOp(*(item.ssa for item in constants), axis, -127, 127, i8, None)
        new.before.append(op)
        new.values += self.results_of(op, new, *constants)
        return op.result

    def input(self, array: Array, new: New, is_static: bool) -> SSAValue:
        """Returns a new input, dequantized integers or floats; or floats that are quantized and dequantized."""
        kind = self.chosen.choices(("integers", "rounded", "floats"), (5, 3, 2))[0]
        if array.dtype.name != self.element or kind == "floats":
            return super().input(array, new, is_static)
        if kind == "rounded":
            meaning, value = self.meaning_for(array), super().input(array, new, is_static)
            (found,) = (item for item in new.values if item.ssa is value)
            return self.rounded(found, new, new.before, meaning).ssa
        meaning = self.meaning_for(array)
        value = super().input(_quantized(array, meaning), new, is_static)
        (integers,) = (item for item in new.values if item.ssa is value)
        self.integers[value] = integers
        return self.dequantized(integers, meaning, new, new.before).ssa

    def meaning_for(self, array: Array) -> Meaning:
        """Returns what integers stand for in place of floats: as elsewhere in the graph, or as a calibrator says."""
        fitting = [meaning for meaning in self.meanings[-6:] if meaning.fits(array)]
        if fitting and self.chosen.random() < 0.5:
            return self.chosen.choice(fitting)
        is_symmetric = self.chosen.random() < 0.25 or (bool(self.table.integers) and self.table.numbers.symmetric)
        self.meanings.append(Meaning.of(array, self.storage, is_symmetric))
        return self.meanings[-1]

    # Operations

    def followed(self, results: list[Value], new: New) -> list[Value]:
        """Returns the results of a new operation, most of them limited, quantized and dequantized; between integers the first one only."""
        ended = results[:1] if self.table.integers else results
        ended = [self.finished(value, new) if value.array.dtype.name == self.element else value for value in ended]
        found = [*ended, *results[len(ended) :]]
        op = cast(SchemaOp, results[0].ssa.owner)
        if op.operands and all(isinstance(value.owner, DequantizePerTensorOp) for value in (op.operands[0], found[0].ssa)):
            self.spans.append((op, op.operands[0], found[0].ssa))
        return found

    def finished(self, value: Value, new: New) -> Value:
        """Returns a float result, or the same limited, quantized and dequantized."""
        if self.chosen.random() < 0.1:
            return value
        value = self.limited(value, new)
        return self.rounded(value, new, new.after, self.meaning_for(value.array))

    def limited(self, value: Value, new: New) -> Value:
        """Returns a value, sometimes behind an operator that limits it."""
        if not self.limiting or self.chosen.random() < 0.6:
            return value
        operator = self.chosen.choice(self.limiting)
        op = operator.kind(value.ssa, *self.chosen.choice(operator.samples)[1:])
        new.after.append(op)
        op.verify_()
        (found,) = self.results_of(op, new, value)
        if self.table.integers or why_not(self.table, op) is None:
            return found
        new.after.remove(op)
        op.drop_all_references()
        return value

    def rounded(self, value: Value, new: New, place: list[Operation], meaning: Meaning) -> Value:
        """Returns dequantize(quantize(value))."""
        op = QuantizePerTensorOp(value.ssa, *meaning.numbers)
        place.append(op)
        (integers,) = self.results_of(op, new, value)
        self.integers[op.result] = integers
        return self.dequantized(integers, meaning, new, place)

    def dequantized(self, integers: Value, meaning: Meaning, new: New, place: list[Operation]) -> Value:
        """Returns the floats of integers."""
        op = DequantizePerTensorOp(integers.ssa, *meaning.numbers, None)
        place.append(op)
        (found,) = self.results_of(op, new, integers)
        if place is new.before:
            new.values.append(found)
        return found

    def results_of(self, op: SchemaOp, new: New, *operands: Value) -> list[Value]:
        """Returns the results of an operation. Raises ValueError if they cannot be compared."""
        found = self.computed(op, new, operands)
        if found is None:
            raise ValueError("the results cannot be compared")
        return found

    def draw(self, size: int | None, number: int) -> None:
        """Adds operators. Some results are integers then, whose floats nothing reads."""
        super().draw(size or self.chosen.choice((1, 1, 2, 3, 5, 8)), number)
        if self.chosen.random() < 0.4:
            self.add_residual()
        for op in reversed(list(self.block.ops)):
            if isinstance(op, DequantizePerTensorOp) and not op.result.uses and self.chosen.random() < 0.7:
                self.taken = [item for item in self.taken if item[1] is not op]
                op.detach()
                op.erase()

    def add_residual(self) -> None:
        """Adds an operator on two tensors: the result of an operation that stays on the CPU, and what this reads."""
        others = [span for span in self.spans if span[0].parent is self.block and span[0] is not self.first]
        spans = [span for span in others if may_stay(self.table, span[0])]
        joining = [operator for operator in self.operators if any(map(_is_of_two, operator.samples))]
        for op, before, after in self.chosen.sample(spans, len(spans)) if joining else ():
            operator = self.chosen.choice(joining)
            sample = self.chosen.choice([*filter(_is_of_two, operator.samples)])
            if same_shape(shape_of(before), shape_of(after)) and self.add(operator, sample, 1, False, (before, after)):
                op.attributes[STAYS] = UnitAttr()
                return

    # Comparison

    def moved(self, array: Array, run: int, op: Operation | None = None) -> Array:
        """Returns the integers that a quantization gives moved by one step: all up, all down, or each in another direction.

        Those of int16 that a function by tables gives are moved by as much as it may be away.
        """
        if not isinstance(op, QuantizePerTensorOp):
            return super().moved(array, run, op)
        chosen = np.asarray(cast(Any, self.noise.integers(0, 2, array.shape)))
        steps = np.full(array.shape, (1, -1)[run]) if run < 2 else 2 * chosen - 1
        steps = steps * (_HALF_BYTE_STEP if self.storage == i16 and _is_by_tables(op.operands[0].owner) else 1)
        moved: Array = np.clip(array.astype(np.int64) + steps, op.argument("quant_min"), op.argument("quant_max"))
        return moved.astype(array.dtype)

    def is_steady(self, array: Array, noisy: Sequence[Array]) -> bool:
        """Returns whether an array holds no extreme numbers, and the noisy computations move it by a few steps at most."""
        if array.dtype.name in TOLERANCES and not (np.abs(array) <= LARGEST).all():
            return False
        most = _HALF_BYTE_STEP * MOST_STEPS if self.storage == i16 else MOST_STEPS
        return _largest_move(array, noisy) <= (most + 1) * self.step_of(array)

    def steps(self, found: Sequence[Array], noisy: Sequence[Sequence[Array]]) -> list[Steps | None]:
        """Returns for each result the largest move in the noisy computations, in steps of its scale."""
        allowed: list[Steps | None] = []
        for place, (array, value) in enumerate(zip(found, self.results, strict=True)):
            owner = value.owner
            is_converted = isinstance(owner, QuantizePerTensorOp | DequantizePerTensorOp)
            scale = cast(float, owner.argument("scale")) if is_converted else self.step_of(array)
            move = _largest_move(array, [run[place] for run in noisy])
            allowed.append(Steps(move / (scale if array.dtype.name in TOLERANCES else 1), scale) if move else None)
        return allowed

    def step_of(self, array: Array) -> float:
        """Returns the step of integers that have the range of an array; 0 for integers of other types, which never move."""
        if array.dtype.name not in TOLERANCES:
            return 1 if array.dtype.itemsize == dtype_of(self.storage).size and array.dtype.kind in "iu" else 0
        return max(float(array.max(initial=0) - array.min(initial=0)) / _levels(self.storage), _least_scale(self.storage))


def _is_by_tables(source: Operation | Block) -> bool:
    """Returns whether backends compute a value by tables, perhaps limited: a function of one number, or of exponentials."""
    while isinstance(source, SchemaOp) and len(source.operands) == 1 and source.schema.base in _LIMITING:
        source = source.operands[0].owner
    return isinstance(source, SchemaOp) and len(source.operands) == 1 and (source.elementwise or source.schema.base == "_softmax")


def _meaning(op: DequantizePerTensorOp) -> Meaning:
    scale, zero_point, _, _, element, _ = op.arguments()[1:]
    return Meaning(element, scale, zero_point)


def _is_of_two(sample: Sequence[Any]) -> bool:
    """Returns whether the first arguments of a sample are two tensors of one shape."""
    return len(sample) > 1 and all(isinstance(item, np.ndarray) for item in sample[:2]) and sample[0].shape == sample[1].shape


def _quantized(array: Array, meaning: Meaning) -> Array:
    return QuantizePerTensorOp.numpy(array, *meaning.numbers)


def _largest_move(array: Array, noisy: Sequence[Array]) -> float:
    """Returns the largest difference of the results of noisy computations from an array; infinity if one is not finite."""
    wide = array.astype(np.float64)
    with np.errstate(all="ignore"):
        found = max((float(np.abs(other.astype(np.float64) - wide).max(initial=0)) for other in noisy), default=0.0)
    return found if np.isfinite(found) else float("inf")
