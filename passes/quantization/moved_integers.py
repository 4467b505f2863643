"""Operators on quantized tensors without integer arithmetic: moves of elements, and functions of one tensor."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from flambeau.dialects.aten.elementwise.comparison import ClampOp
from flambeau.dialects.aten.images.pool import MaxPool2dWithIndicesOp
from flambeau.dialects.aten.images.upsample import UpsampleNearest2dVecOp
from flambeau.dialects.fused.quantized import RANGES
from flambeau.dialects.fused.quantized_elementwise import QuantizedTableOp
from flambeau.dialects.ir.tensor_types import dtype_of, element_of, is_static, numel, shape_of, tensor, tensor_type
from flambeau.dialects.quantized_decomposed.quantize import QuantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_operators import DEQUANTIZE
from flambeau.passes.analysis.quantized_types import QuantizedType, dequantized, narrowed, quantized_type
from flambeau.passes.analysis.ranges import bounds_of_clamp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import decline
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.passes.targets.interface import Target
from flambeau.support.lazy import Array, np

_MOST_OPERATORS = 32
"""Of a function that becomes a table."""


@dataclass(frozen=True)
class _Integers:
    """The rewrites of operators to what they do with the integers."""

    target: Target
    constants: ModuleConstants

    def move(self, op: QuantizePerTensorOp) -> SSAValue | None:
        """Replaces quantize(f(dequantize(x), …)), where f moves elements, takes the largest or clamps, by f of the integers.

        Integers of another quantized type than the result's are mapped by a table first; floats are quantized before they move.
        """
        to, value = quantized_type(op), op.operands[0]
        if (source := self._integers(value, to)) is not None:
            return source
        mover = value.owner
        if not isinstance(mover, SchemaOp) or mover.level() != "edge" or not value.has_one_use() or element_of(value) != f32:
            return None
        if (bounds := bounds_of_clamp(mover)) is not None:
            if (source := self._integers(mover.operands[0], to)) is not None and self.target.has(ClampOp):
                return ClampOp.at("edge")(source, *narrowed(to, bounds)).result
            return None
        if not _moves(mover):
            return None
        found = [dequantized(operand, self.constants) for operand in mover.operands]
        if found == [None] and is_static(mover.operands[0], value) and numel(mover.operands[0].type) <= numel(value.type):
            # The operator that computes the floats may have an integer form, if its result is quantized before the move.
            kind = tensor(to.storage, shape_of(mover.operands[0]), tensor_type(mover.operands[0]).encoding)
            before = QuantizePerTensorOp.from_attributes(mover.operands, [kind], dict(op.properties))
            return self._moved(mover, [before.result], op)
        if any(item is None or item.type.axis is not None or item.type.storage not in RANGES for item in found):
            return None
        integers = [self._integers(operand, to) for operand in mover.operands]
        if None in integers and (len(integers) == 1 or to.storage not in RANGES or not self.target.has(QuantizedTableOp)):
            return None
        sources = [
            lookup(item.value, _floats_of_bytes(item.type), op, self.constants) if source is None and item is not None else source
            for source, item in zip(integers, found, strict=True)
        ]
        return self._moved(mover, [source for source in sources if source is not None], op)

    def _moved(self, mover: SchemaOp, operands: list[SSAValue], op: QuantizePerTensorOp) -> SSAValue:
        """Returns the result of the operator `mover` on integer operands."""
        kinds = [tensor(element_of(op.result), shape_of(mover.results[0]), tensor_type(mover.results[0]).encoding), *mover.result_types[1:]]
        # The element type that a copy names is the floats'.
        properties = {name: value for name, value in mover.properties.items() if name != "dtype"}
        moved = type(mover).create(operands=operands, result_types=kinds, properties=properties)
        moved.location = mover.location
        return moved.results[0]

    def _integers(self, value: SSAValue, to: QuantizedType) -> SSAValue | None:
        """Returns the integers of a dequantized value; None unless their quantized type is `to`, perhaps with a narrower range."""
        found = dequantized(value, self.constants)
        fits = found is not None and found.type.stands_for_same(to) and to.low <= found.type.low and found.type.high <= to.high
        return found.value if found is not None and fits else None

    def look_up(self, op: QuantizePerTensorOp) -> SSAValue | None:
        """Replaces quantize(f(dequantize(x))), where f computes each element from that of x, by a table of 256 results."""
        value = op.operands[0]
        if (root := _root_of(value)) is None:
            return None
        source = dequantized(root, self.constants)
        if source is None or source.type.axis is not None:
            return decline("stays in floats: its operand is not dequantized with one constant scale")
        if source.type.storage not in RANGES or element_of(op.result) not in RANGES:
            return decline(f"stays in floats: a table has bytes, not {source.type.storage} as {element_of(op.result)}")
        if not self.target.has(QuantizedTableOp):
            return decline(f"stays in floats: the target {self.target.name!r} has no kernel for {QuantizedTableOp.name}")
        with np.errstate(all="ignore"):
            numbers = _evaluate(value, {root: _floats_of_bytes(source.type)})
        return lookup(source.value, numbers, op, self.constants)


def moved_patterns(target: Target, constants: ModuleConstants) -> list[Pattern]:
    """Returns the patterns, that of moves first."""
    found = _Integers(target, constants)
    moves = rewrites(QuantizePerTensorOp, counter="operators moved to integers")(found.move)
    return [moves, rewrites(QuantizePerTensorOp, counter="tables made")(found.look_up)]


def _moves(op: SchemaOp) -> bool:
    """Returns whether the operator only moves elements into its first result: a cast, which a row of moves may be too, does not."""
    if element_of(op.operands[0]) != element_of(op.results[0]):
        return False
    if isinstance(op, MaxPool2dWithIndicesOp):
        return all(not result.uses for result in op.results[1:])
    row = op.siblings["row"]
    return len(op.results) == 1 and (row.moves or row.schema.is_view or isinstance(op, UpsampleNearest2dVecOp))


def _root_of(value: SSAValue) -> SSAValue | None:
    """Returns the dequantized tensor that a value is an elementwise function of; None for several, or other operators."""
    roots: set[SSAValue] = set()
    operators: set[Operation] = set()
    waiting = [value]
    while waiting:
        item = waiting.pop()
        owner = item.owner
        if isinstance(owner, DEQUANTIZE):
            roots.add(item)
        elif not isinstance(owner, SchemaOp) or not _is_of_one_tensor(owner, value) or len(operators) == _MOST_OPERATORS:
            return None
        elif owner not in operators:
            operators.add(owner)
            waiting.extend(owner.operands)
    return roots.pop() if len(roots) == 1 else None


def _evaluate(value: SSAValue, known: dict[SSAValue, Array]) -> Array:
    """Evaluates a value in numpy from the `known` arrays, and adds the results to them."""
    if value not in known:
        op = value.owner
        assert isinstance(op, SchemaOp)
        known[value] = op.call("numpy", op.bind([_evaluate(operand, known) for operand in op.operands], op.properties))
    return known[value]


def _is_of_one_tensor(op: SchemaOp, value: SSAValue) -> bool:
    """Returns whether an operator is elementwise on float32 tensors of the shape of `value`."""
    if not op.elementwise or op.draws() or op.level() != "edge" or len(op.results) != 1 or not op.operands:
        return False
    return all(element_of(item) == f32 and shape_of(item) == shape_of(value) for item in (*op.operands, *op.results))


def _floats_of_bytes(kind: QuantizedType) -> Array:
    """Returns the dequantized floats of the bytes 0 to 255."""
    return kind.floats(np.arange(256, dtype=np.uint8).view(dtype_of(kind.storage).numpy))


def lookup(value: SSAValue, numbers: Array, op: QuantizePerTensorOp, constants: ModuleConstants) -> SSAValue:
    """Returns a table look-up of `value`: `numbers` has the float for each byte, and `op` quantizes it."""
    table = QuantizePerTensorOp.call("numpy", op.bind([numbers], op.properties))
    element = element_of(op.result)
    load = constants.add("quantized_table", np.ascontiguousarray(table), tensor(element, (256,)))
    kind = tensor(element, shape_of(value), tensor_type(value).encoding)
    return QuantizedTableOp(value, load.results[0], result_types=[kind]).result
