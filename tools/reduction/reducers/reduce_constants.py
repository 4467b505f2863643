"""The reducer that replaces computed values by zeros."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.dialects.arith import ConstantOp
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    ModuleOp,
    Signedness,
    TensorType,
)
from xdsl.ir import Attribute, Operation, OpResult

from flambeau.dialects.exec.slots import SlotOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.symbols import symbol_name
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, is_static, nbytes
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.tools.reduction.edits import is_terminator, replace_results
from flambeau.tools.reduction.reducer import Reducer


class ZerosReducer(Reducer[Operation]):
    """A reducer that replaces operations with computed operands by zeros: a constant global for a tensor, a constant for a number."""

    name = "zeros"

    def __init__(self, blobs: BlobStore):
        self._blobs = blobs

    def targets(self, module: ModuleOp) -> Sequence[Operation]:
        """Returns the operations that zeros can replace.

        Such an operation reads the result of another operation that has operands or regions, and all its results have types with a zero.
        Slots and terminators are left out.
        """
        return [
            op
            for op in module.walk()
            if op.results
            and not isinstance(op, SlotOp)
            and not is_terminator(op)
            and any(isinstance(value, OpResult) and (value.op.operands or value.op.regions) for value in op.operands)
            and all(_has_zero(kind) for kind in op.result_types)
        ]

    def apply(self, module: ModuleOp, targets: Sequence[Operation]) -> None:
        """Replaces the results of the operations by zeros."""
        names: dict[Attribute, str] = {}
        for op in targets:
            block = op.parent
            if block is None:
                continue
            zeros = [self._zero(kind, module, names) for kind in op.result_types]
            for zero in zeros:
                zero.location = op.location
                block.insert_op_before(zero, op)
            replace_results(op, [zero.results[0] for zero in zeros])

    def _zero(self, kind: Attribute, module: ModuleOp, names: dict[Attribute, str]) -> Operation:
        if isinstance(kind, IntegerType | IndexType):
            return ConstantOp(IntegerAttr(0, cast(Any, kind)))
        if not isinstance(kind, TensorType):
            return ConstantOp(FloatAttr(0.0, cast(Any, kind)))
        if kind not in names:
            taken = {symbol_name(op) for op in module.body.block.ops}
            name = next(name for index in range(len(taken) + 1) if (name := f"zero_{index}") not in taken)
            data = bytes(nbytes(cast(Tensor, kind)))
            new = GlobalOp(name, cast(Tensor, kind), self._blobs.add(name, data))
            first = module.body.block.first_op
            assert first is not None  # it contains the replaced operation
            module.body.block.insert_op_before(new, first)
            names[kind] = name
        return GlobalLoadConstantOp(names[kind], cast(Tensor, kind))


def _has_zero(kind: Attribute) -> bool:
    if isinstance(kind, TensorType):
        try:
            dtype_of(cast(Tensor, kind).element_type)
        except TypeError:
            return False
        return is_static(cast(Tensor, kind))
    if isinstance(kind, IntegerType):
        return cast("IntegerType[Any, Any]", kind).signedness.data is Signedness.SIGNLESS
    return isinstance(kind, IndexType | AnyFloat)
