"""Arguments of operators in one form, for converters: dimensions from 0 on, a number for each dimension, pads before and behind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.windows import spread
from flambeau.dialects.aten.movement.pad import margins
from flambeau.dialects.aten.movement.shape import normalize_dims
from flambeau.dialects.ir.tensor_types import normalize_dim, shape_of
from flambeau.dialects.schema import families
from flambeau.dialects.schema.row import SchemaOp

Numbers = tuple[int, ...]


def dim_of(op: SchemaOp, value: SSAValue | None = None) -> int:
    """Returns the dimension that the argument `dim` names, of the first operand unless it is one of another value."""
    return normalize_dim(op.argument("dim"), len(shape_of(op.operands[0] if value is None else value)))


def reduced_dims(op: SchemaOp) -> list[int]:
    """Returns the dimensions that a reduction is over, in order: all when it names none."""
    return list(families.reduced_dims(op.argument("dim"), len(shape_of(op.operands[0]))))


def permutation(op: SchemaOp) -> Numbers:
    """Returns the dimension of the operand that each dimension of a `permute` is."""
    return normalize_dims(op.argument("dims"), len(shape_of(op.operands[0])))


def pads_of(op: SchemaOp) -> tuple[Numbers, Numbers]:
    """Returns how many elements a `constant_pad_nd` adds before and behind each dimension."""
    pairs = margins(op.argument("pad"), len(shape_of(op.operands[0])))
    return tuple(before for before, _ in pairs), tuple(behind for _, behind in pairs)


def start_of(op: SchemaOp) -> int:
    """Returns the first index that a `slice`, or the index that a `select`, takes along its dimension, of a known size if negative."""
    start = op.argument("index" if op.schema.base.startswith("select") else "start") or 0
    return start if start >= 0 else max(start + shape_of(op.operands[0])[dim_of(op)], 0)


def sizes_before(op: SchemaOp) -> Sequence[int]:
    """Returns the sizes of the operand of an `expand`, with 1 for each dimension that is new."""
    old = shape_of(op.operands[0])
    return (*(1,) * (len(shape_of(op.result)) - len(old)), *old)


@dataclass(frozen=True)
class Windows:
    """The windows of a convolution or pool, with a number for each dimension of its images."""

    kernel: Numbers
    stride: Numbers
    padding: Numbers
    """The padding at the beginning of a dimension, and at its end."""
    dilation: Numbers
    output_padding: Numbers

    def of_images(self) -> Windows:
        """Returns the windows of lines on the same lines as images of height 1."""
        return Windows((1, *self.kernel), (1, *self.stride), (0, *self.padding), (1, *self.dilation), (0, *self.output_padding))


def windows_of(op: SchemaOp) -> Windows:
    """Returns the windows of a `convolution` or of a pool of images."""
    if op.schema.base == "convolution":
        kernel = shape_of(op.argument("weight"))[2:]
    else:
        kernel = spread(op.argument("kernel_size"), len(shape_of(op.operands[0])) - 2, "kernel_size")
    names = {argument.name for argument in op.schema.arguments}
    dilation = op.argument("dilation") if "dilation" in names else (1,)
    more = op.argument("output_padding") if "output_padding" in names else (0,)
    lists = {"stride": op.argument("stride") or kernel, "padding": op.argument("padding"), "dilation": dilation, "output_padding": more}
    return Windows(kernel, **{name: spread(numbers, len(kernel), name) for name, numbers in lists.items()})
