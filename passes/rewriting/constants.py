"""Constants of a module: reading the arrays behind SSA values, and adding new ones as globals."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, SymbolRefAttr
from xdsl.ir import OpResult, SSAValue

from flambeau.dialects.lazy import Array
from flambeau.dialects.ml_program import BlobAttr, BlobError, BlobStore, GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.types import Tensor, tensor_type
from flambeau.dialects.weights import logical_array, stored_array


def blob_store(context: Context) -> BlobStore:
    """The weights of a context. Raises BlobError for a context that is not Flambeau's."""
    if not isinstance(context, FlambeauContext):
        raise BlobError("weights stand beside the text of a module, where only a FlambeauContext finds them: use flambeau-opt")
    return context.blobs


class ModuleConstants:
    """The constant globals of one module."""

    def __init__(self, context: Context, module: ModuleOp):
        self._context = context
        self._module = module
        self._globals = {op.sym_name.data: op for op in module.body.block.ops if isinstance(op, GlobalOp)}

    def global_of(self, value: SSAValue) -> GlobalOp | None:
        """The immutable global that `value` loads, if it does."""
        if not isinstance(value, OpResult) or not isinstance(value.op, GlobalLoadConstantOp):
            return None
        return self._globals.get(value.op.global_attr.string_value())

    def is_constant(self, value: SSAValue) -> bool:
        """Whether `value` loads an immutable global."""
        return self.global_of(value) is not None

    def array(self, value: SSAValue) -> Array | None:
        """The array that `value` loads, as a read-only view; None when it is no constant."""
        source = self.global_of(value)
        if source is None or not isinstance(source.value, BlobAttr):
            return None
        return logical_array(blob_store(self._context).get(source.value), tensor_type(value))

    def name(self, value: SSAValue) -> str:
        """The name of the global that `value` loads; `constant` for other values."""
        source = self.global_of(value)
        return source.sym_name.data if source is not None else "constant"

    def add(self, name: str, array: Array, kind: Tensor) -> GlobalLoadConstantOp:
        """Adds a global with these elements and gives a detached load of it. An equal global of the same type is used again."""
        stored = stored_array(array, kind)
        unique, attempt = name, 0
        while True:
            blob = blob_store(self._context).add(unique, stored.data)
            known = self._globals.get(unique)
            if known is None:
                new = GlobalOp(unique, kind, blob)
                last = list(self._globals.values())[-1] if self._globals else None
                if last is None:
                    first = self._module.body.block.first_op
                    if first is None:
                        self._module.body.block.add_op(new)
                    else:
                        self._module.body.block.insert_op_before(new, first)
                else:
                    self._module.body.block.insert_op_after(new, last)
                self._globals[unique] = new
                break
            if known.value == blob and known.type == kind:
                break
            attempt += 1
            unique = f"{name}_{attempt}"
        return GlobalLoadConstantOp(SymbolRefAttr(unique), kind)
