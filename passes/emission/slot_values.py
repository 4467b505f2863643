"""The C variables of the slots of a method: tensors, values, and the arguments of calls."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from xdsl.ir import Operation, SSAValue

from flambeau.dialects.edge.layout import byte_strides, dim_order, upper_bounds
from flambeau.dialects.exec import literals, slots
from flambeau.dialects.exec.instructions import MoveOp, written_literals
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.slot_contents import is_viewing
from flambeau.dialects.ir.tensor_types import dtype_of, is_static, tensor_type
from flambeau.passes.emission.c_variables import Declarations, array, opaque


def c_double(number: float) -> str:
    """Returns a literal of the same bits, but for the payload of a NaN."""
    if math.isnan(number):
        return "(double)NAN"
    if math.isinf(number):
        return "(double)INFINITY" if number > 0 else "-(double)INFINITY"
    return repr(number)


def c_string(value: str) -> str:
    """Returns a string literal."""
    octal = (chr(byte) if 32 <= byte < 127 and chr(byte) not in '"\\?' else f"\\{byte:03o}" for byte in value.encode())
    return f'"{"".join(octal)}"'


@dataclass
class SlotValues:
    """The variables of the slots of one method. A value that the method or the caller changes is a variable, any other a constant."""

    method: MethodOp
    declarations: Declarations
    arenas: Mapping[int, str]
    """The variable of each arena, from 1."""
    weights: Mapping[str, str]
    """The variable of the bytes of each global that is a constant."""
    prefix: str = ""
    """Before the names of the method's own variables."""
    written: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The variables of values that runs change, and the initialiser of each."""
    are_weights_placed: bool = False
    """Whether the addresses of weights are known only when the application gives them."""
    placed: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    """The variables of tensors of such weights, and the address of each."""
    _names: dict[SSAValue, str] = field(default_factory=dict[SSAValue, str])
    _roots: slots.Roots = field(default_factory=dict[SSAValue, tuple[SSAValue, int]])

    def __post_init__(self) -> None:
        instructions = self.method.instructions
        # A list itself stays: what a call writes are its items.
        written = {
            slot
            for slot in written_literals([*instructions, self.method.terminator])
            if not isinstance(slot.owner, literals.SlotListOp | literals.OptionalTensorListOp)
        }
        self._changed = written | {op.target for op in instructions if isinstance(op, MoveOp)}

    def address(self, slot: SSAValue) -> str:
        """Returns the address of a slot's value, as calls take it."""
        name = self.name(slot)
        return f"&{name}" if slot in self._changed else f"FL_CONSTANT({name})"

    def name(self, slot: SSAValue) -> str:
        """Returns the variable of a slot's value, which is declared at its first use."""
        if slot not in self._names:
            self._names[slot] = self._declare(cast(Operation, slot.owner))
        return self._names[slot]

    def constant_truth(self, slot: SSAValue) -> bool | None:
        """Returns the boolean that a slot always holds, or None."""
        return slot.owner.truth if isinstance(slot.owner, literals.BoolOp) and slot not in self._changed else None

    def addresses(self, values: Sequence[SSAValue | None]) -> str:
        """Returns the initialiser of an array of the addresses of values, NULL for an absent one."""
        return "{" + ", ".join("NULL" if value is None else self.address(value) for value in values) + "}"

    def elements(self, slot: SSAValue) -> str:
        """Returns the address of a tensor's bytes, where the tensor may be only known when the program runs."""
        address, is_moving = self._data(cast(slots.TensorSlotOp, slot.owner))
        return f"{self.name(slot)}.as.tensor->data" if is_moving else address

    def place(self, slot: SSAValue) -> tuple[int, int] | None:
        """Returns the arena and the offset of a tensor."""
        return slots.place_of(slot, self._roots)

    def _declare(self, op: Operation) -> str:
        slot = op.results[0]
        if isinstance(op, slots.TensorSlotOp):
            return self._value(slot, f"FL_TENSOR_VALUE(&{self._tensor(op)})", self._hint(slot, "tensor"))
        value, name = self._literal(op)
        return self._value(slot, value, self._hint(slot, name) if slot in self._changed else name)

    def _hint(self, slot: SSAValue, otherwise: str) -> str:
        return f"{self.prefix}{slot.name_hint or otherwise}"

    def _value(self, slot: SSAValue, value: str, wanted: str) -> str:
        # The letter keeps the names of tensors from those of C's functions.
        if slot not in self._changed:
            return self.declarations.constant(f"v_{wanted}", opaque("fl_value"), value)
        name = self.declarations.variable(f"v_{wanted}", opaque("fl_value"), value)
        self.written.append((name, value))
        return name

    def _literal(self, op: Operation) -> tuple[str, str]:
        """Returns the initialiser of a literal, and a name for it."""
        match op:
            case literals.IntOp():
                # The least integer has no literal.
                number = "INT64_MIN" if op.number == -(2**63) else str(op.number)
                return f"FL_INT_VALUE({number})", f"int_{op.number}".replace("-", "m")
            case literals.DoubleOp():
                return f"FL_DOUBLE_VALUE({c_double(op.number)})", f"real_{op.number:g}".replace("-", "m").replace(".", "_").replace("+", "")
            case literals.BoolOp():
                return f"FL_BOOLEAN_VALUE({int(op.truth)})", f"is_{str(op.truth).lower()}"
            case literals.StringOp():
                return f"FL_STRING_VALUE({c_string(op.value.data)})", "text"
            case literals.NoneOp():
                return "FL_NONE_VALUE", "none"
            case literals.DoubleListOp():
                return self._list("FL_DOUBLE_LIST", "double", list(map(c_double, op.numbers)), "reals")
            case literals.BoolListOp():
                return self._list("FL_BOOL_LIST", "uint8_t", [str(int(truth)) for truth in op.truths], "truths")
            case literals.IntListOp():
                return self._list("FL_INT_LIST", "fl_value *const", list(map(self.address, op.items)), "ints")
            case literals.TensorListOp():
                return self._list("FL_TENSOR_LIST", "fl_value *const", list(map(self.address, op.items)), "tensors")
            case literals.OptionalTensorListOp():
                items = ["NULL" if item is None else self.address(item) for item in op.entries]
                return self._list("FL_OPTIONAL_TENSOR_LIST", "fl_value *const", items, "tensors")
            case _:
                raise AssertionError(op.name)

    def _list(self, tag: str, type: str, items: list[str], name: str) -> tuple[str, str]:
        if not items:
            return f"FL_LIST_VALUE({tag}, NULL, 0)", f"no_{name}"
        of = self.declarations.constant(
            f"{name}_items", array(type, len(items)), f"{{{', '.join(items)}}}", () if type.endswith("const") else ("const",)
        )
        return f"FL_LIST_VALUE({tag}, {of}, {len(items)})", name

    def _tensor(self, op: slots.TensorSlotOp) -> str:
        type = tensor_type(op.slot)
        sizes, order = upper_bounds(type), dim_order(type)
        dtype = dtype_of(type.element_type)
        size = slots.nbytes(type)
        declare = self.declarations
        order_name = declare.numbers("order", "uint8_t", order)
        dims = declare.numbers("sizes", "int32_t", sizes)
        strides = [step // dtype.size for step in byte_strides(type)]
        wanted = f"t_{self._hint(op.slot, 'tensor')}"
        data, is_moving = self._data(op)
        tail = f"{size}, {len(sizes)}, FL_{dtype.name.upper()}"
        root, offset = slots.root_of(op.slot, self._roots)
        if self.are_weights_placed and isinstance(root.owner, slots.ConstantOp):
            value = f"FL_FIXED_TENSOR(NULL, {dims}, {declare.numbers('strides', 'int32_t', strides)}, {order_name}, {tail})"
            name = declare.variable(wanted, opaque("fl_tensor"), value)
            address = self.weights[root.owner.global_name.string_value()]
            self.placed.append((name, f"{address} + {offset}" if offset else address))
            return name
        if is_static(type):
            value = f"FL_FIXED_TENSOR({data}, {dims}, {declare.numbers('strides', 'int32_t', strides)}, {order_name}, {tail})"
            return (declare.variable if is_moving else declare.constant)(wanted, opaque("fl_tensor"), value)
        length = max(len(sizes), 1)
        own_sizes = declare.variable(f"{wanted}_sizes", array("int32_t", length), f"{{{', '.join(map(str, sizes))}}}")
        own_strides = declare.variable(f"{wanted}_strides", array("int32_t", length), f"{{{', '.join(map(str, strides))}}}")
        value = f"FL_DYNAMIC_TENSOR({data}, {own_sizes}, {own_strides}, {order_name}, {dims}, {tail})"
        return declare.variable(wanted, opaque("fl_tensor"), value)

    def _data(self, op: slots.TensorSlotOp) -> tuple[str, bool]:
        """Returns the address of a tensor's bytes, and whether that is known only at run time."""
        if isinstance(op, slots.ViewOp) and any(is_viewing(use.operation, op.slot) for use in op.slot.uses):
            return "NULL", True
        root, offset = slots.root_of(op.slot, self._roots)
        if isinstance(root.owner, slots.ConstantOp):
            if self.are_weights_placed:
                return "NULL", True
            name = self.weights[root.owner.global_name.string_value()]
            return (f"{name} + {offset}" if offset else name), False
        place = self.place(op.slot)
        if place is None:
            return "NULL", True
        arena, offset = place
        return (f"{self.arenas[arena]} + {offset}" if offset else self.arenas[arena]), False
