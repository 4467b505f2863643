"""Constants of a module: reading the arrays behind SSA values, and adding new ones as globals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, ModuleOp, SymbolRefAttr
from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from flambeau.dialects.edge.stored_arrays import logical_array, stored_array
from flambeau.dialects.ir.blobs import DIGEST_LENGTH, BlobAttr, BlobStore
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ir.symbols import symbols_of
from flambeau.dialects.ir.tensor_types import Tensor, element_of, numpy_dtype, tensor_type
from flambeau.dialects.ir.weight_files import BlobError
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.support.lazy import Array, np


def blob_store(context: Context) -> BlobStore:
    """Returns the weights of a context. Raises BlobError for a context that is not Flambeau's."""
    if not isinstance(context, FlambeauContext):
        raise BlobError("weights stand beside the text of a module, where only a FlambeauContext finds them: use flambeau-opt")
    return context.blobs


class ModuleConstants:
    """The constant globals of one module: its weights, to be read and added to.

    Example:
        constants = ModuleConstants(context, module)
        assert not constants.is_constant(product.operands[0])
    """

    def __init__(self, context: Context, module: ModuleOp):
        self._context = context
        self._module = module
        self._symbols = symbols_of(module)
        self._globals = {name: op for name, op in self._symbols.items() if isinstance(op, GlobalOp)}
        self._names: dict[str, _Names] = {}

    def global_of(self, value: SSAValue) -> GlobalOp | None:
        """Returns the immutable global that `value` loads, if it does."""
        if not isinstance(value, OpResult) or not isinstance(value.op, GlobalLoadConstantOp):
            return None
        return self._globals.get(value.op.global_attr.string_value())

    def is_constant(self, value: SSAValue) -> bool:
        """Returns whether `value` loads an immutable global."""
        return self.global_of(value) is not None

    def array(self, value: SSAValue) -> Array | None:
        """Returns the array that `value` loads, as a read-only view, or None for no constant. Raises OperationError without its weights."""
        source = self.global_of(value)
        return None if source is None else self._array_of(source)

    def first_value(self, name: str) -> Array | None:
        """Returns the array that a global begins with; None for an unknown one. Raises OperationError without its weights."""
        source = self._globals.get(name)
        return None if source is None else self._array_of(source)

    def _array_of(self, source: GlobalOp) -> Array | None:
        stored: object = source.value
        if isinstance(stored, DenseIntOrFPElementsAttr):
            kind, elements = tensor_type(source.type), cast("DenseIntOrFPElementsAttr[Any]", stored).get_values()
            numbers = np.array(elements).astype(numpy_dtype(element_of(kind)))
            return np.broadcast_to(numbers.reshape(() if numbers.size == 1 else kind.get_shape()), kind.get_shape())
        if not isinstance(source.value, BlobAttr):
            return None
        try:
            data = blob_store(self._context).get(source.value)
        except BlobError as error:
            raise OperationError(source, str(error)) from error
        return logical_array(data, tensor_type(source.type))

    def elements(self, value: SSAValue) -> Array:
        """Returns the array that `value` loads. Raises OperationError for no constant, or without its weights."""
        found = self.array(value)
        if found is None:
            around = value.owner if isinstance(value.owner, Operation) else self._module
            raise OperationError(around, "its result is no constant whose value is known")
        return found

    def sha256(self, array: Array) -> str:
        """Returns the SHA-256 of the bytes of an array that is row-major. That of a constant is not computed again."""
        return blob_store(self._context).sha256(array.reshape(-1).view(np.uint8).data)

    def name(self, value: SSAValue) -> str:
        """Returns the name of the global that `value` loads; `constant` for other values."""
        source = self.global_of(value)
        return source.sym_name.data if source is not None else "constant"

    def add(self, name: str, array: Array, kind: Tensor) -> GlobalLoadConstantOp:
        """Adds a global with these elements and gives a detached load of it. An equal global of the same type is used again.

        Raises ValueError for an array of another shape than the type's.
        """
        if array.shape != kind.get_shape():
            raise ValueError(f"constant {name!r}: an array of shape {array.shape} is no {kind}")
        # Stored as bytes, because Python's buffers do not support every dtype.
        stored = stored_array(array, kind).reshape(-1).view(np.uint8).data
        store = blob_store(self._context)
        names = self._names.setdefault(name, _Names(name))
        while (taken := self._symbols.get(names.next)) is not None:
            names.pass_over(taken)
        sha256 = store.sha256(stored)
        known = names.of_contents.get((sha256[:DIGEST_LENGTH], kind))
        unique = known or names.next
        blob = store.add(unique, stored, sha256)
        if known is None:
            self._insert(GlobalOp(unique, kind, blob))
        return GlobalLoadConstantOp(SymbolRefAttr(unique), kind)

    def _insert(self, new: GlobalOp) -> None:
        """Inserts a global after the existing ones."""
        body = self._module.body.block
        if self._globals:
            body.insert_op_after(new, next(reversed(self._globals.values())))
        elif (first := body.first_op) is not None:
            body.insert_op_before(new, first)
        else:
            body.add_op(new)
        self._globals[new.sym_name.data] = self._symbols[new.sym_name.data] = new


@dataclass
class _Names:
    """`name`, `name_1`, `name_2`, …: which are taken, and by what, so that each is looked at once."""

    name: str
    count: int = 0
    of_contents: dict[tuple[str, Attribute], str] = field(default_factory=dict[tuple[str, Attribute], str])
    """The name of the global with these bytes, by their digest, and of this type."""

    @property
    def next(self) -> str:
        """Returns the first free name."""
        return f"{self.name}_{self.count}" if self.count else self.name

    def pass_over(self, taken: Operation) -> None:
        """Marks this name as taken."""
        name = self.next
        if isinstance(taken, GlobalOp) and not taken.is_mutable and isinstance(taken.value, BlobAttr) and taken.value.key.data == name:
            self.of_contents.setdefault((taken.value.digest.data, taken.type), name)
        self.count += 1
