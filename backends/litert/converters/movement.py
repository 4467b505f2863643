"""Parts, padding, repetition and other moves of elements, and choices among them."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects.builtin import f32, i1, i32, i64
from xdsl.ir import SSAValue

from flambeau.backends.litert.converters.building import (
    CONVERTERS,
    inputs_of,
    limited,
    of_numbers,
    operator_of,
    part,
    reshaped,
    same,
    transposed,
    with_margin,
)
from flambeau.backends.litert.dialect.choices import COMPARISONS, LOGIC, CastOp, LogicalNotOp, SelectV2Op
from flambeau.backends.litert.dialect.movement import EVERY, ConcatenationOp, GatherOp, MirrorPadOp, ReverseV2Op, StridedSliceOp, TileOp
from flambeau.dialects.aten.movement.shape import normalize_dims
from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import ElementType, element_of, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.delegation.normalized import dim_of, pads_of, permutation, sizes_before, start_of
from flambeau.passes.rewriting.constants import ModuleConstants


def _sliced(op: SchemaOp, x: SSAValue) -> SSAValue:
    dim, first, step = dim_of(op), start_of(op), op.argument("step")
    count = shape_of(op.result)[dim]
    if step == 1 or count == 1:
        return part(x, dim, first, count)
    shape = shape_of(x)
    begin, end, steps = [0] * len(shape), [size if is_known(size) else EVERY for size in shape], [1] * len(shape)
    begin[dim], end[dim], steps[dim] = first, first + (count - 1) * step + 1, step
    return StridedSliceOp(x, tuple(begin), tuple(end), tuple(steps)).result


def _selected(op: SchemaOp, x: SSAValue) -> SSAValue:
    return reshaped(part(x, dim_of(op), start_of(op), 1), shape_of(op.result))


def _flipped(op: SchemaOp, x: SSAValue) -> SSAValue:
    for axis in normalize_dims(op.argument("dims"), len(shape_of(x))):
        x = x if provably_equal(shape_of(x)[axis], 1) else ReverseV2Op(x, (axis,)).result
    return x


def _reflected(op: SchemaOp, x: SSAValue) -> SSAValue:
    last_first = op.argument("padding")
    pads = [(0, 0)] * (len(shape_of(x)) - len(last_first) // 2)
    pads += [(last_first[place], last_first[place + 1]) for place in range(len(last_first) - 2, -1, -2)]
    return MirrorPadOp(x, tuple(item for pair in pads for item in pair), mode="REFLECT").result


def _expanded(op: SchemaOp, x: SSAValue) -> SSAValue:
    old, new = sizes_before(op), shape_of(op.result)
    counts = tuple(1 if provably_equal(before, after) else after // before for before, after in zip(old, new, strict=True))
    x = reshaped(x, old)
    return x if all(count == 1 for count in counts) else TileOp(x, counts).result


_SMALLER: dict[str, Callable[[SchemaOp, SSAValue], SSAValue]] = {
    "slice_copy.Tensor": _sliced,
    "select_copy.int": _selected,
    "flip": _flipped,
    "permute_copy": lambda op, x: transposed(x, permutation(op)),
    **dict.fromkeys(("reflection_pad1d", "reflection_pad2d"), _reflected),
    **dict.fromkeys(
        ("view_copy", "unsqueeze_copy", "squeeze_copy.dim", "squeeze_copy.dims", "clone"), lambda op, x: reshaped(x, shape_of(op.result))
    ),
}
"""The moves after which integers become those of another type."""
_LARGER: dict[str, Callable[[SchemaOp, SSAValue], SSAValue]] = {"expand_copy": _expanded, "repeat": _expanded}
"""The moves before which they do."""

for _name, _move in (_SMALLER | _LARGER).items():
    CONVERTERS(_name)(lambda op, constants, move=_move: move(op, op.operands[0]))


@CONVERTERS.integers(*_SMALLER)
def _integer_move(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x = operator_of(found), found.x
    return limited(same(Quantized(_SMALLER[op.schema.name](op, x.value), x.type), found.to), found, constants)


@CONVERTERS.integers(*_LARGER)
def _integer_repetition(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op = operator_of(found)
    return limited(_LARGER[op.schema.name](op, same(found.x, found.to)), found, constants)


@CONVERTERS("constant_pad_nd")
def _pad(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return with_margin(op.operands[0], *pads_of(op), op.argument("value"), None, constants)


@CONVERTERS.integers("constant_pad_nd")
def _integer_pad(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op = operator_of(found)  # the number around it may be beyond those of the operand's type
    number = found.to.quantize(op.argument("value"))
    return limited(with_margin(same(found.x, found.to), *pads_of(op), number, found.to, constants), found, constants)


# Several tensors


def _joined(op: SchemaOp, values: Sequence[SSAValue]) -> SSAValue:
    dim = dim_of(op, op.result)
    if op.schema.base == "stack":
        shape = (*shape_of(op.result)[:dim], 1, *shape_of(op.result)[dim + 1 :])
        values = [reshaped(value, shape) for value in values]
    return ConcatenationOp(list(values), axis=dim).result


@CONVERTERS("cat", "stack")
def _concatenation(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _joined(op, op.operands)


@CONVERTERS.integers("cat", "stack")
def _integer_concatenation(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    return limited(_joined(operator_of(found), [same(x, found.to) for x in inputs_of(found)]), found, constants)


@CONVERTERS("split_with_sizes_copy")
def _split(op: SchemaOp, constants: ModuleConstants) -> list[SSAValue]:
    sizes = op.argument("split_sizes")
    return [part(op.operands[0], dim_of(op), sum(sizes[:index]), size) for index, size in enumerate(sizes)]


def _gathered(op: SchemaOp, x: SSAValue) -> SSAValue:
    found = GatherOp(x, op.operands[1], axis=0 if op.schema.base == "embedding" else dim_of(op)).result
    return reshaped(found, shape_of(op.result))  # a place without dimensions is one entry in PyTorch, and none here


@CONVERTERS("index_select", "embedding")
def _gather(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return _gathered(op, op.operands[0])


@CONVERTERS.integers("index_select", "embedding")
def _integer_gather(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    x = found.x
    return limited(same(Quantized(_gathered(operator_of(found), x.value), x.type), found.to), found, constants)


# Conditions

CONVERTERS.arithmetic(COMPARISONS, lambda op, constants: of_numbers(constants, "number", op.argument("other"), op.operands[0]))
CONVERTERS.of_operands({f"logical_{name}": node for name, node in LOGIC.items()})
CONVERTERS.of_operands({f"bitwise_{name}.Tensor": node for name, node in LOGIC.items()})
CONVERTERS.of_operands({"logical_not": LogicalNotOp, "bitwise_not": LogicalNotOp, "where.self": SelectV2Op})


@CONVERTERS.integers("where.self")
def _integer_choice(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    a, b = (same(x, found.to) for x in inputs_of(found))
    return limited(SelectV2Op(operator_of(found).operands[0], a, b).result, found, constants)


_NAMES: dict[ElementType, str] = {f32: "FLOAT32", i1: "BOOL", i32: "INT32", i64: "INT64"}


@CONVERTERS("_to_copy")
def _conversion(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    x, kind, to = op.operands[0], element_of(op.operands[0]), element_of(op.result)
    return x if kind == to else CastOp(x, in_data_type=_NAMES[kind], out_data_type=_NAMES[to]).result
