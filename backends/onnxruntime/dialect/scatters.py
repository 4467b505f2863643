"""Operators that put elements into places of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xdsl.dialects.builtin import i64

from flambeau.backends.onnxruntime.dialect.elements import require_places
from flambeau.backends.onnxruntime.dialect.movement import MovingOnnxOp
from flambeau.backends.onnxruntime.dialect.operators import onnx, require_one_type, require_type
from flambeau.dialects.ir.extents import differ, exceeds, is_known
from flambeau.dialects.ir.tensor_types import Tensor, element_of, normalize_dim, shape_of, tensor
from flambeau.support.lazy import Array, np


class ScatterOnnxOp(MovingOnnxOp):
    """A tensor with updates in its places, or with these added to the elements there, if `reduction` is `add`."""

    @staticmethod
    def put(x: Array, places: Any, updates: Array, reduction: str) -> Array:
        """Returns the tensor with the updates."""
        found = x.copy()
        if reduction == "add":
            np.add.at(found, places, updates)
        else:
            found[places] = updates
        return found


def _require(x: Tensor, updates: Tensor, wanted: Sequence[int], reduction: str) -> None:
    require_one_type(x, updates)
    found = shape_of(updates)
    if reduction not in ("none", "add") or len(found) != len(wanted) or any(map(differ, found, wanted)):
        raise ValueError(f"updates {list(found)} with the reduction {reduction!r} do not fit places for {list(wanted)}")


@onnx("ScatterND(Tensor data, Tensor indices, Tensor updates, *, str reduction='none') -> Tensor")
class ScatterNDOp(ScatterOnnxOp):
    """The tensor with updates at the places that the last dimension of the indices says."""

    @staticmethod
    def infer(x: Tensor, indices: Tensor, updates: Tensor, /, reduction: str) -> Tensor:
        require_type("indices", indices, i64)
        shape, given = shape_of(x), shape_of(indices)
        if not given or not is_known(given[-1]) or not 1 <= given[-1] <= len(shape):
            raise ValueError(f"indices {list(given)} do not name places of {list(shape)}")
        _require(x, updates, (*given[:-1], *shape[given[-1] :]), reduction)
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, indices: Array, updates: Array, /, reduction: str) -> Array:
        return ScatterOnnxOp.put(x, tuple(indices[..., place] for place in range(indices.shape[-1])), updates, reduction)


@onnx("ScatterElements(Tensor data, Tensor indices, Tensor updates, *, int axis=0, str reduction='none') -> Tensor")
class ScatterElementsOp(ScatterOnnxOp):
    """The tensor with updates in the lines along a dimension, where in them the indices say."""

    @staticmethod
    def infer(x: Tensor, indices: Tensor, updates: Tensor, /, axis: int, reduction: str) -> Tensor:
        require_places(indices)
        shape, wanted = shape_of(x), shape_of(indices)
        dim = normalize_dim(axis, len(shape))
        if len(wanted) != len(shape) or any(exceeds(a, b) for k, (a, b) in enumerate(zip(wanted, shape, strict=True)) if k != dim):
            raise ValueError(f"indices {list(wanted)} do not lie in {list(shape)}")
        _require(x, updates, wanted, reduction)
        return tensor(element_of(x), shape)

    @staticmethod
    def numpy(x: Array, indices: Array, updates: Array, /, axis: int, reduction: str) -> Array:
        places: list[Array] = list(np.ogrid[tuple(map(slice, indices.shape))])
        places[axis % x.ndim] = indices
        return ScatterOnnxOp.put(x, tuple(places), updates, reduction)
