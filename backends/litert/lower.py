"""Converts `edge` operators to `litert` ones, in floats or between integers, with transposes around operators of images."""

from __future__ import annotations

from math import prod
from typing import Any

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import SSAValue

from flambeau.backends.litert import LiteRtOptions
from flambeau.backends.litert.converters import borders, functions, images, layers, movement, norms, products, reductions
from flambeau.backends.litert.converters.building import CONVERTERS, reshaped
from flambeau.backends.litert.dialect.elements import LIMITED, DequantizeOp
from flambeau.backends.litert.dialect.movement import ConcatenationOp, PadOp, PadV2Op, ReshapeOp, SliceOp, StridedSliceOp, TransposeOp
from flambeau.backends.litert.dialect.operators import INTEGERS, LiteRtOp
from flambeau.backends.litert.legality import table
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.passes.delegation.lowering.transposes import Transposes
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.greedy_driver import apply_patterns
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.passes.rewriting.pattern_functions import rewrites
from flambeau.support.lazy import np

FAMILIES = (borders, functions, images, layers, movement, norms, products, reductions)
"""The files with the converters."""


def convert(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> None:
    """Rewrites a partition in `litert` operators. Raises ConversionError, which lists the operators that have no converter."""
    # Where floats are taken too, an operator that is not taken between integers stays in floats.
    own = options if isinstance(options, LiteRtOptions) else LiteRtOptions()
    chosen = table(own) if own.precision == "mixed" else None
    CONVERTERS.apply(partition, constants, chosen)
    apply_patterns(partition, [fold_integers(constants)])
    moves = Transposes(TransposeOp, "perm", reshaped, lambda op: op.elementwise, constants)
    moving = [moves.join(), moves.past_elements(LiteRtOp), moves.past_axis(ConcatenationOp), moves.join_reshapes(ReshapeOp)]
    moving += [
        moves.past(SliceOp, "begin", "size"),
        moves.past(StridedSliceOp, "begin", "end", "strides"),
        moves.past(PadOp, "padding"),
        moves.past(PadV2Op, "padding"),
    ]
    apply_patterns(partition, moving)
    apply_patterns(partition, [moves.as_reshape(), *moving])
    apply_patterns(partition, [end_with_activation])
    if own.weights == "float16":
        halve_constants(partition, constants)


@rewrites(LiteRtOp, counter="activations joined")
def end_with_activation(op: LiteRtOp) -> SSAValue | None:
    """Makes a function of floats that a layer, a sum or a product can end with the activation of the one before it."""
    activation = op.schema.base.upper()
    source = op.operands[0].owner if activation in LIMITED else None
    if not isinstance(source, LiteRtOp) or source.keeps_type or op.argument("scales") or not op.operands[0].has_one_use():
        return None
    given = {argument.name: source.argument(argument.name) for argument in source.schema.arguments}
    if given.get("fused_activation_function") != "NONE":
        return None
    kind: Any = type(source)
    return kind(**{**given, "fused_activation_function": activation}).result


def fold_integers(constants: ModuleConstants) -> Pattern:
    """Returns the pattern that computes integers of constant integers, which XNNPACK refuses to do at each call."""

    @rewrites(LiteRtOp, counter="constants folded")
    def fold(op: LiteRtOp) -> SSAValue | None:
        kinds = {element_of(value) for value in (*op.operands, op.result)}
        if not kinds <= INTEGERS or not op.operands or not all(map(constants.is_constant, op.operands)):
            return None
        arrays = [constants.elements(value) for value in op.operands]
        found = op.call("numpy", op.bind(arrays, op.properties))
        return constants.add(constants.name(op.operands[0]), np.asarray(found), tensor(element_of(op.result), found.shape)).result

    return fold


FEWEST = 64
"""The fewest elements of a constant that is stored as float16: fewer save less than the operator takes that makes floats of them."""
MOST_LOST = 2**-11
"""The most that an element loses as float16, of the largest: half a step, which subnormal numbers of float16 do not hold."""


def halve_constants(partition: PartitionOp, constants: ModuleConstants) -> None:
    """Stores constants of float32 as float16, and makes floats of them, unless there are few of them or one is beyond float16.

    Constants whose largest element is below what float16 holds with all of its bits stay too: they would become other numbers, or zeros.
    """
    for load in [op for op in partition.body.block.ops if isinstance(op, GlobalLoadConstantOp)]:
        if element_of(load.result) != f32 or prod(shape_of(load.result)) < FEWEST:
            continue
        array = constants.elements(load.result)
        with np.errstate(over="ignore"):
            halves = array.astype(np.float16)
        numbers = np.isfinite(array)
        lost = np.abs(array[numbers] - halves[numbers])
        if lost.max(initial=0) > MOST_LOST * np.abs(array[numbers]).max(initial=0):
            continue
        half = constants.add(constants.name(load.result), halves, tensor(f16, halves.shape))
        floats = DequantizeOp(half.result)
        partition.body.block.insert_ops_before([half, floats], load)
        load.result.replace_all_uses_with(floats.result)
        load.detach()
        load.erase()
