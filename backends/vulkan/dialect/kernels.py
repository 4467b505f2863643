"""The base classes of rows, and what a dispatch is."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

from xdsl.dialects.builtin import f16, f32
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.ir.tensor_types import Tensor, element_of, numel, shape_of, tensor
from flambeau.dialects.schema.namespace import Namespace
from flambeau.dialects.schema.row import Function, SchemaOp
from flambeau.support.lazy import np

vulkan = Namespace("vulkan")

Numbers = tuple[int, ...]

GROUP = 64
"""The invocations of a workgroup."""
MOST_GROUPS = 65535
"""The most workgroups of a dispatch in one direction, on every device."""
MOST_BYTES = 1 << 27
"""The most bytes of a tensor: what every device can bind."""
MOST_DIMENSIONS = 6
"""The most dimensions over which a module loops."""


@dataclass(frozen=True)
class Dispatch:
    """A call of a module.

    Attributes:
        shader: the name of its file in `runtime/shaders/`, with `_i8` behind it if a weight is of int8.
        constants: the words of its specialization constants, from number 0 on.
        pushed: the words of its push constants.
        buffers: the tensors of its bindings, from number 0 on.
        groups: the workgroups in each direction.
    """

    shader: str
    constants: Numbers
    pushed: Numbers
    buffers: tuple[SSAValue, ...]
    groups: tuple[int, int, int]

    @property
    def module(self) -> str:
        """The name of the module: that of the shader, compiled for elements such as those of the last binding, the result."""
        return f"{self.shader}_f16" if element_of(self.buffers[-1]) == f16 else self.shader


class KernelOp(SchemaOp):
    """An operator of tensors of float32 or float16, which has `dispatches` of its own. It computes in float32."""

    takes: ClassVar[frozenset[Attribute] | None] = frozenset((f32, f16))
    writes_apart: ClassVar[bool] = False
    """Whether its dispatches write different elements."""
    widens: ClassVar[bool] = True
    """Whether it computes in float32 of float16, and rounds its result."""

    @classmethod
    def call(cls, function: Function, arguments: Sequence[Any]) -> Any:
        if function != "numpy" or not cls.widens or not any(_is_half(argument) for argument in arguments):
            return super().call(function, arguments)
        widened = [_widened(argument) for argument in arguments]
        with np.errstate(over="ignore"):
            return super().call(function, widened).astype(np.float16)

    def dispatches(self) -> Sequence[Dispatch]:
        """Returns the dispatches that compute the result, in their order; none if it has the bytes of the first operand."""
        raise NotImplementedError(self.name)


def word(number: float) -> int:
    """Returns the bits of a float32."""
    return struct.unpack("<I", struct.pack("<f", number))[0]


def signed(number: int) -> int:
    """Returns the bits of an int32."""
    return number % 2**32


def over(count: int, each: int = GROUP) -> tuple[int, int, int]:
    """Returns the workgroups for `count` elements of which each group computes so many, in a loop where there are more."""
    return (min(-(-count // each), MOST_GROUPS), 1, 1)


def elements(value: SSAValue) -> int:
    """Returns the number of elements of a tensor."""
    return numel(value)


def _is_half(argument: Any) -> bool:
    given = cast(list[Any], argument if isinstance(argument, list) else [argument])
    return any(getattr(item, "dtype", None) == np.float16 for item in given)


def _widened(argument: Any) -> Any:
    """Returns an argument of a function of numpy with elements of float32 in place of float16."""
    if isinstance(argument, list):
        return [_widened(item) for item in cast(list[Any], argument)]
    return argument.astype(np.float32) if _is_half(argument) else argument


def like(x: Tensor, shape: Sequence[int]) -> Tensor:
    """Returns the type of a tensor with the elements of another."""
    return tensor(element_of(x), shape)


def require_alike(x: Tensor, *others: Tensor | None) -> None:
    """Raises TypeError unless all tensors have the same elements."""
    for kind in others:
        if kind is not None and element_of(kind) != element_of(x):
            raise TypeError(f"its tensors have the same elements, not {element_of(x)} and {element_of(kind)}")


def padded(numbers: Sequence[int]) -> Numbers:
    """Returns numbers for each of the dimensions that push constants have, zeros behind those given."""
    return (*numbers, *(0,) * (MOST_DIMENSIONS - len(numbers)))


def row_major(shape: Sequence[int]) -> Numbers:
    """Returns the strides of a row-major tensor, in elements."""
    strides: list[int] = []
    size = 1
    for extent in reversed(shape):
        strides.insert(0, size)
        size *= extent
    return tuple(strides)


def merged(shape: Sequence[int], *strides: Sequence[int]) -> tuple[Numbers, list[Numbers]]:
    """Returns a shape, and strides of several tensors in it, without dimensions of size 1 and with neighbours merged where all allow it."""
    sizes: list[int] = []
    found: list[list[int]] = [[] for _ in strides]
    for dim, extent in enumerate(shape):
        if extent == 1:
            continue
        here = [item[dim] for item in strides]
        if sizes and all(kept[-1] == extent * step for kept, step in zip(found, here, strict=True)):
            sizes[-1] *= extent
            for kept, step in zip(found, here, strict=True):
                kept[-1] = step
        else:
            sizes.append(extent)
            for kept, step in zip(found, here, strict=True):
                kept.append(step)
    return tuple(sizes), [tuple(item) for item in found]


def broadcast_strides(value: SSAValue, shape: Sequence[int]) -> Numbers:
    """Returns the strides with which a tensor is read in a larger shape: 0 where it is repeated."""
    own = shape_of(value)
    strides = row_major(own)
    missing = len(shape) - len(own)
    return (*(0,) * missing, *(0 if size == 1 else step for size, step in zip(own, strides, strict=True)))
