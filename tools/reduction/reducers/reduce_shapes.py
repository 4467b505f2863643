"""Reducers of shapes: smaller extents, everywhere at once or in one argument or weight."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import FunctionType, MemRefType, ModuleOp, TensorType, VectorType
from xdsl.ir import Attribute, BlockArgument, SSAValue

from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, tensor_type
from flambeau.dialects.ml_program import GlobalOp
from flambeau.tools.reduction.function_signature import free_functions
from flambeau.tools.reduction.reducer import Reducer
from flambeau.tools.reduction.retype import Retyping, Step, shaped_types, with_shape


def to_one(extent: int) -> int:
    """Returns 1."""
    return min(extent, 1)


def to_two(extent: int) -> int:
    """Returns 2, or a smaller extent."""
    return min(extent, 2)


def to_half(extent: int) -> int:
    """Returns half of an extent."""
    return extent // 2 if extent > 1 else extent


def less(part: int) -> Step:
    """Returns a function that makes an extent smaller by a `part`-th of it."""
    return lambda extent: extent - extent // part if extent > 1 else extent


def less_one(extent: int) -> int:
    """Returns an extent less one."""
    return extent - 1 if extent > 1 else extent


STEPS: tuple[Step, ...] = (to_one, to_two, to_half, less(4), less(16), less(64), less_one)
"""Each repeats until it fails, so an extent that must not fall below some number is found in few steps, however large."""


def _extents(kind: Attribute) -> tuple[int, ...]:
    match kind:
        case TensorType() | MemRefType() | VectorType():
            return kind.get_shape()
        case FunctionType():
            return tuple(extent for part in (*kind.inputs, *kind.outputs) for extent in _extents(part))
        case _:
            return ()


class SizesReducer(Reducer[int]):
    """A reducer that makes every dimension of some extent smaller, throughout the module, and infers all types again."""

    name = "sizes"

    def __init__(self, blobs: BlobStore, step: Step):
        self._blobs = blobs
        self._step = step

    def targets(self, module: ModuleOp) -> Sequence[int]:
        """Returns the extents that can be smaller, the largest first."""
        found = {extent for kind in shaped_types(module) for extent in _extents(kind)}
        return sorted((extent for extent in found if 0 <= self._step(extent) < extent), reverse=True)

    def apply(self, module: ModuleOp, targets: Sequence[int]) -> None:
        """Changes the extents."""
        Retyping(module, self._blobs, {extent: self._step(extent) for extent in targets}).run()


Dimension = tuple[GlobalOp | BlockArgument, int]


class DimensionsReducer(Reducer[Dimension]):
    """A reducer that makes single dimensions of arguments and weights smaller, and infers the types that depend on them."""

    name = "dimensions"

    def __init__(self, blobs: BlobStore, step: Step):
        self._blobs = blobs
        self._step = step

    def targets(self, module: ModuleOp) -> Sequence[Dimension]:
        """Returns the dimensions of the arguments of functions and of globals."""
        found: list[Dimension] = []
        sources: list[GlobalOp | BlockArgument] = [op for op in module.body.block.ops if isinstance(op, GlobalOp)]
        for function in free_functions(module):
            sources += function.args
        for source in sources:
            kind: Attribute = source.type
            if isinstance(kind, TensorType):
                shape = cast(Tensor, kind).get_shape()
                found += [(source, dim) for dim, extent in enumerate(shape) if 0 <= self._step(extent) < extent]
        return found

    def apply(self, module: ModuleOp, targets: Sequence[Dimension]) -> None:
        """Changes the dimensions."""
        kinds: dict[GlobalOp | BlockArgument, Tensor] = {}
        for source, dim in targets:
            kind = kinds.get(source) or tensor_type(source.type)
            shape = list(kind.get_shape())
            shape[dim] = self._step(shape[dim])
            kinds[source] = with_shape(kind, shape)
        values: dict[SSAValue, Attribute] = {source: kind for source, kind in kinds.items() if isinstance(source, BlockArgument)}
        weights = {source: kind for source, kind in kinds.items() if isinstance(source, GlobalOp)}
        Retyping(module, self._blobs, {}, values, weights).run()
