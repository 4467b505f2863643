"""The slots of the values and arguments of a function that becomes a method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.edge.layout import upper_bounds
from flambeau.dialects.exec.instructions import COPY, CallOp, MoveOp
from flambeau.dialects.exec.literals import (
    BoolListOp,
    BoolOp,
    DoubleListOp,
    DoubleOp,
    IntListOp,
    NoneOp,
    OptionalTensorListOp,
    StringOp,
    TensorListOp,
)
from flambeau.dialects.exec.slots import TensorOp
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import dtype_of, tensor_type
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.passes.rewriting.conversion_report import IllegalOperation
from flambeau.passes.storage.number_arithmetic import slot_of
from flambeau.passes.storage.number_slots import NumberSlots
from flambeau.passes.storage.slot_builder import SlotBuilder


@dataclass
class ValueSlots:
    """The slots, results of operations of `exec`, for the values and the constant arguments of a function."""

    builder: SlotBuilder
    numbers: NumberSlots
    values: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    illegal: list[IllegalOperation] = field(default_factory=list[IllegalOperation])
    """The operations without a form as instructions."""

    def constant(self, value: Any, kind: str) -> SSAValue:
        """Returns the slot of an argument that is not a tensor."""
        share = self.builder.share
        if not is_known(value):
            return self.numbers.of(value)
        if value is None or kind == "MemoryFormat":
            # The memory format is in the type of the result's slot.
            return share(None, NoneOp)
        if isinstance(value, Attribute):
            return self.builder.integer(dtype_of(value).scalar_type)
        if isinstance(value, tuple):
            items = cast("tuple[Any, ...]", value)
            if kind == "bool":
                return share(("bools", items), lambda: BoolListOp(items))
            if kind in ("float", "Scalar"):
                return share(("doubles", items), lambda: DoubleListOp([float(item) for item in items]))
            boxed = [self.constant(item, "int") for item in items]
            return share(("ints", *boxed), lambda: IntListOp(boxed))
        if isinstance(value, bool):
            return share(("bool", value), lambda: BoolOp(value))
        if isinstance(value, int) and kind != "float":
            return self.builder.integer(value)
        if isinstance(value, int | float):
            # repr distinguishes -0.0 from 0.0, and is equal for NaN.
            return share(("double", repr(float(value))), lambda: DoubleOp(float(value)))
        return share(("string", value), lambda: StringOp(value))

    def argument(self, argument: SchemaArgument, value: Any) -> SSAValue:
        """Returns the slot of one argument of a call."""
        if not argument.type.is_tensor:
            return self.constant(value, argument.type.base)
        if argument.type.is_list:
            items = [None if item is None else self.values[item] for item in cast("Sequence[SSAValue | None]", value)]
            if argument.type.element_optional:
                return self.builder.slot(OptionalTensorListOp(items))
            return self.builder.slot(TensorListOp([item for item in items if item is not None]))
        return self.constant(None, "") if value is None else self.values[value]

    def own(self, value: SSAValue, op: Operation) -> SSAValue:
        """Declares the slot of a value, a tensor or a number, that `op` gives."""
        if isinstance(value.type, TensorType):
            self.require_bounds(value, op)
            slot = TensorOp(tensor_type(value))
            slot.location = op.location
            slot.results[0].name_hint = value.name_hint
        else:
            slot = slot_of(value.type)
        self.values[value] = self.builder.slot(slot)
        return self.values[value]

    def require_bounds(self, value: SSAValue, op: Operation) -> None:
        """Notes an error where a tensor has no greatest size: its slot has as many bytes as it may ever need."""
        try:
            upper_bounds(value)
        except TypeError as error:
            self.illegal.append(IllegalOperation(op, str(error)))

    def refuse(self, op: Operation, reason: str) -> None:
        """Notes that an operation has no form; its readers are converted all the same, to find everything that is illegal."""
        self.illegal.append(IllegalOperation(op, reason))
        for result in op.results:
            is_tensor = isinstance(result.type, TensorType)
            self.values[result] = self.builder.slot(TensorOp(tensor_type(result)) if is_tensor else NoneOp())

    def copy(self, source: SSAValue, target: SSAValue) -> None:
        """Adds a copy from one slot to another of the same type."""
        if isinstance(source.type, TensorType):
            self.builder.emit(CallOp(COPY, [source, self.constant(None, "")], [target]))
        else:
            self.builder.emit(MoveOp(source, target))

    def copy_all(self, sources: Sequence[SSAValue], targets: Sequence[SSAValue]) -> None:
        """Copies slots to slots, all at once: none is written before it has been read."""
        pending = [(source, target) for source, target in zip(sources, targets, strict=True) if source is not target]
        while pending:
            read = [source for source, _ in pending]
            ready = next((move for move in pending if move[1] not in read), None)
            if ready is not None:
                self.copy(*ready)
                pending.remove(ready)
                continue
            source, target = pending[0]
            held = self.builder.slot(TensorOp(tensor_type(source)) if isinstance(source.type, TensorType) else slot_of(source.type))
            self.copy(source, held)
            pending[0] = (held, target)
