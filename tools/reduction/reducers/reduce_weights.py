"""The reducer of weights: zeros, or ones if the predicate needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute

from flambeau.dialects.edge.stored_arrays import logical_array, stored_array
from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.dialects.ir.tensor_types import Tensor, numpy_dtype, shape_of
from flambeau.dialects.ml_program import GlobalOp
from flambeau.support.lazy import np
from flambeau.tools.reduction.reducer import Reducer


class WeightsReducer(Reducer[GlobalOp]):
    """A reducer that sets all elements of a global to 0 or 1."""

    name = "weights"

    def __init__(self, blobs: BlobStore, value: int):
        self._blobs = blobs
        self._value = value

    def targets(self, module: ModuleOp) -> Sequence[GlobalOp]:
        """Returns the globals with other elements."""
        return [op for op in module.walk() if isinstance(op, GlobalOp) and self._differs(op)]

    def _differs(self, op: GlobalOp) -> bool:
        kind: Attribute = op.type
        if not isinstance(op.value, BlobAttr) or not isinstance(kind, TensorType):
            return False
        array = logical_array(self._blobs.get(op.value), cast(Tensor, kind))
        # Zeros are simpler than ones.
        return bool(np.any(array != self._value) and np.any(array != 0))

    def apply(self, module: ModuleOp, targets: Sequence[GlobalOp]) -> None:
        """Changes the elements."""
        for op in targets:
            kind = cast(Tensor, op.type)
            array = np.full(shape_of(kind), self._value, numpy_dtype(kind.element_type))
            op.value = self._blobs.add(op.blob.key.data, stored_array(array, kind).data)
