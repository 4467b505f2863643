"""Images of another size, in floats or between integers."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import CONVERTERS, constant, limited, quantized, rescale, same
from flambeau.backends.tosa.converters.images import on_images
from flambeau.backends.tosa.converters.movement import part
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.resizing import ResizeOp
from flambeau.backends.tosa.resized import sides_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.quantized_types import IntegerOperator, Quantized
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np


def _resized(op: SchemaOp, image: SSAValue) -> SSAValue:
    sides = sides_of(op)
    for dim, side in enumerate(sides, 1):
        image = part(image, dim, 0, side.extent)
    scale = tuple(item for side in sides for item in (side.times, side.share))
    mode = "nearest" if op.schema.base == "upsample_nearest2d" else "bilinear"
    return ResizeOp(image, scale, tuple(side.offset for side in sides), tuple(side.border for side in sides), mode=mode).result


@CONVERTERS("upsample_nearest2d.vec", "upsample_bilinear2d.vec")
def _resize(op: SchemaOp, constants: ModuleConstants) -> SSAValue:
    return on_images(op.operands[0], lambda image: _resized(op, image))


@CONVERTERS.integers("upsample_nearest2d.vec")
def _integer_nearest(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    op, x = found.operator, found.x
    assert op is not None
    moved = on_images(x.value, lambda image: _resized(op, image))
    return limited(same(Quantized(moved, x.type), found.to), found)


@CONVERTERS.integers("upsample_bilinear2d.vec")
def _integer_bilinear(found: IntegerOperator, constants: ModuleConstants) -> SSAValue:
    """Converts to sums, which have the zero point as often as their weights say; it need not go where it comes again."""
    op, x, to = found.operator, found.x, found.to
    assert op is not None
    times = prod(side.times for side in sides_of(op))

    def sums(image: SSAValue) -> SSAValue:
        wide = _resized(op, image)
        if x.type.stands_for_same(to):
            return rescale(wide, 1 / times, 0, 0, to.storage)
        if x.type.zero_point:
            zero = constant(constants, "zero_point", np.full((1, 1, 1, 1), x.type.zero_point * times, np.int32), i32)
            wide = e.BINARY["sub"](wide, zero).result
        return quantized(wide, x.type.scale / to.scale / times, to)

    return limited(on_images(x.value, sums), found)
