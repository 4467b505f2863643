"""Nodes that move elements, or interpolate between them."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.backends.xnnpack.dialect.nodes import NodeOp, xnnpack
from flambeau.dialects.aten.images.upsample import UpsampleBilinear2dVecOp
from flambeau.dialects.ir.extents import is_known, minimum
from flambeau.dialects.ir.tensor_types import Tensor, is_empty, shape_of
from flambeau.support.lazy import Array, np

ALIGN_CORNERS = 8
"""The flag of a resizing for which the corners of both images lie on each other."""

Numbers = tuple[int, ...]


@xnnpack("static_transpose(int[] perm, Tensor input, int flags=0) -> Tensor")
class StaticTransposeNodeOp(NodeOp):
    """The dimensions in another order: dimension i of the result is dimension perm[i] of the input."""

    @classmethod
    def infer(cls, perm: Numbers, x: Tensor, /, flags: int) -> Tensor:
        shape = shape_of(x)
        if sorted(perm) != list(range(len(shape))):
            raise ValueError(f"perm {list(perm)} is no order of {len(shape)} dimensions")
        return cls.typed([x], tuple(shape[dim] for dim in perm), flags)

    @staticmethod
    def numpy(perm: Numbers, x: Array, /) -> Array:
        return x.transpose(perm)


def _new_shape(shape: Sequence[int], new_shape: Numbers) -> Numbers:
    """Returns `new_shape` with the extent that follows from the other extents in place of its 0, if it has one."""
    total, known = 1, 1
    for extent in shape:
        total *= extent
    for extent in new_shape:
        known *= extent or 1
    if new_shape.count(0) > 1 or min(new_shape, default=1) < 0 or (total % known if 0 in new_shape else total != known):
        raise ValueError(f"{list(shape)} cannot have the shape {list(new_shape)}")
    return tuple(extent or total // known for extent in new_shape)


@xnnpack("static_reshape(int[] new_shape, Tensor input, int flags=0) -> Tensor")
class StaticReshapeNodeOp(NodeOp):
    """The same elements in another shape. One extent of the shape may be 0: it follows from the others."""

    @classmethod
    def infer(cls, new_shape: Numbers, x: Tensor, /, flags: int) -> Tensor:
        return cls.typed([x], _new_shape(shape_of(x), new_shape), flags)

    @staticmethod
    def numpy(new_shape: Numbers, x: Array, /) -> Array:
        return x.reshape(_new_shape(x.shape, new_shape))


@xnnpack("static_slice(int[] offsets, int[] sizes, Tensor input, int flags=0) -> Tensor")
class StaticSliceNodeOp(NodeOp):
    """The part that starts at the offsets and has the given sizes; a dimension that is shorter at run time ends it earlier."""

    @classmethod
    def infer(cls, offsets: Numbers, sizes: Numbers, x: Tensor, /, flags: int) -> Tensor:
        shape = shape_of(x)
        if not len(offsets) == len(sizes) == len(shape) or any(
            start < 0 or size < 1 or (is_known(extent) and start + size > extent)
            for start, size, extent in zip(offsets, sizes, shape, strict=True)
        ):
            raise ValueError(f"{list(shape)} has no part of the sizes {list(sizes)} at {list(offsets)}")
        return cls.typed(
            [x], tuple(minimum(size, extent - start) for start, size, extent in zip(offsets, sizes, shape, strict=True)), flags
        )

    @staticmethod
    def numpy(offsets: Numbers, sizes: Numbers, x: Array, /) -> Array:
        return x[tuple(slice(start, start + size) for start, size in zip(offsets, sizes, strict=True))]


@xnnpack("static_constant_pad(int[] pre_paddings, int[] post_paddings, float padding_value, Tensor input, int flags=0) -> Tensor")
class StaticConstantPadNodeOp(NodeOp):
    """The input, padded with a number at the start and at the end of each dimension."""

    @classmethod
    def infer(cls, before: Numbers, behind: Numbers, value: float, x: Tensor, /, flags: int) -> Tensor:
        shape = shape_of(x)
        if not len(before) == len(behind) == len(shape) or min((0, *before, *behind)) < 0:
            raise ValueError(f"paddings {list(before)} and {list(behind)} do not fit the shape {list(shape)}")
        return cls.typed([x], tuple(map(sum, zip(before, shape, behind, strict=True))), flags)

    @staticmethod
    def numpy(before: Numbers, behind: Numbers, value: float, x: Array, /) -> Array:
        return np.pad(x, list(zip(before, behind, strict=True)), constant_values=x.dtype.type(value))


class ConcatenationNodeOp(NodeOp):
    """The inputs one after another along the dimension `axis`."""

    @classmethod
    def infer(cls, axis: int, /, *arguments: Tensor | int) -> Tensor:
        inputs, flags = [x for x in arguments if not isinstance(x, int)], arguments[-1]
        shapes = [shape_of(x) for x in inputs]
        first = shapes[0]
        if not 0 <= axis < len(first):
            raise ValueError(f"axis {axis} is none of the {len(first)} dimensions")
        if any((*shape[:axis], *shape[axis + 1 :]) != (*first[:axis], *first[axis + 1 :]) for shape in shapes):
            raise ValueError(f"the shapes {[list(shape) for shape in shapes]} differ beside dimension {axis}")
        assert isinstance(flags, int)
        return cls.typed(inputs, (*first[:axis], sum(shape[axis] for shape in shapes), *first[axis + 1 :]), flags)

    @staticmethod
    def numpy(axis: int, /, *arguments: Array) -> Array:
        return np.concatenate(arguments[:-1], axis)


@xnnpack("concatenate2(int axis, Tensor input1, Tensor input2, int flags=0) -> Tensor")
@xnnpack("concatenate3(int axis, Tensor input1, Tensor input2, Tensor input3, int flags=0) -> Tensor")
@xnnpack("concatenate4(int axis, Tensor input1, Tensor input2, Tensor input3, Tensor input4, int flags=0) -> Tensor")
@xnnpack("concatenate5(int axis, Tensor input1, Tensor input2, Tensor input3, Tensor input4, Tensor input5, int flags=0) -> Tensor")
class Concatenate5NodeOp(ConcatenationNodeOp):
    """The inputs one after another along a dimension."""


@xnnpack("static_resize_bilinear2d(int new_height, int new_width, Tensor input, int flags=0) -> Tensor")
class StaticResizeBilinear2dNodeOp(NodeOp):
    """Images resized by bilinear interpolation. Flag 8: the corners of both images are aligned."""

    known_flags = ALIGN_CORNERS

    @classmethod
    def infer(cls, height: int, width: int, x: Tensor, /, flags: int) -> Tensor:
        shape = shape_of(x)
        if len(shape) != 4 or is_empty(shape):
            raise ValueError(f"input must have 4 dimensions, none of them 0, got {list(shape)}")
        return cls.typed([x], (shape[0], height, width, shape[3]), flags)

    @staticmethod
    def numpy(height: int, width: int, x: Array, /, flags: int) -> Array:
        image = x.transpose(0, 3, 1, 2)
        return UpsampleBilinear2dVecOp.numpy(image, (height, width), bool(flags & ALIGN_CORNERS), None).transpose(0, 2, 3, 1)
