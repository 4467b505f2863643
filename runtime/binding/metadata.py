"""The inputs, outputs and memory of a method."""

import ctypes
import json
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

from flambeau.runtime.binding.libraries import kernel_names, registry
from flambeau.runtime.binding.library import CError, CMethodInfo, CRequirements, CSlotInfo, FlambeauError, Status, check, library
from flambeau.runtime.scalar_types import BY_NUMBER
from flambeau.support.executorch_names import ExplainsMembers
from flambeau.support.tables import discover

if TYPE_CHECKING:
    from flambeau.runtime.binding.loaded_program import Program

DTYPE_NAMES = {number: row.name for number, row in BY_NUMBER.items()}
"""Names, as numpy and ml_dtypes have them, of the scalar types that the runtime computes with."""


class ValueTag(IntEnum):
    """The kinds of values."""

    NONE = 0
    TENSOR = 1
    STRING = 2
    DOUBLE = 3
    INT = 4
    BOOL = 5
    BOOL_LIST = 6
    DOUBLE_LIST = 7
    INT_LIST = 8
    TENSOR_LIST = 9
    OPTIONAL_TENSOR_LIST = 10


_LONGEST_NAME = 200
"""Characters of an operator's name that a message shows: a file may have names of any length."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """The type and the place of a tensor input or output.

    Attributes:
        shape: elements per dimension; upper bounds if `is_dynamic`.
        dim_order: the dimensions from the outermost to the innermost in memory.
        type: the dtype's name, such as "float32".
        size_in_bytes: bytes of the elements, for the upper bounds of dynamic sizes.
        planned: whether the tensor lies in an arena of the method.
        constant: whether the tensor lies in the program.
    """

    shape: tuple[int, ...]
    dim_order: tuple[int, ...]
    type: str
    size_in_bytes: int
    is_dynamic: bool
    planned: bool
    constant: bool

    def sizes(self) -> tuple[int, ...]:
        """Returns `shape`."""
        return self.shape

    def dtype(self) -> str:
        """Returns `type`."""
        return self.type

    def nbytes(self) -> int:
        """Returns `size_in_bytes`."""
        return self.size_in_bytes

    def is_memory_planned(self) -> bool:
        """Returns `planned`."""
        return self.planned


@dataclass(frozen=True, slots=True)
class Slot:
    """An input or output of any kind.

    Attributes:
        tensor: the type of a tensor; None unless `tag` is TENSOR.
        value: the value that the program stores for a scalar.
    """

    tag: ValueTag
    tensor: TensorInfo | None
    value: int | float | bool | str | None


@dataclass(frozen=True, slots=True)
class Memory:
    """All bytes of memory that a method needs.

    Attributes:
        method: bytes for the values, instructions and delegates.
        scratch: bytes for the kernels while they run.
        arenas: bytes of each arena, in which tensors are planned.
    """

    method: int
    scratch: int
    arenas: tuple[int, ...]

    @property
    def total(self) -> int:
        """The sum of all bytes."""
        return self.method + self.scratch + sum(self.arenas)


def read_slot(info: CSlotInfo) -> Slot:
    """Returns the slot that a C structure describes."""
    tag = ValueTag(info.tag)
    if tag is ValueTag.TENSOR:
        tensor = TensorInfo(
            tuple(info.sizes[: info.rank]),
            tuple(info.dim_order[: info.rank]),
            DTYPE_NAMES.get(info.dtype, f"scalar type {info.dtype}"),
            info.bytes,
            bool(info.dynamic),
            bool(info.planned),
            bool(info.constant),
        )
        return Slot(tag, tensor, None)
    value = {
        ValueTag.INT: info.integer,
        ValueTag.BOOL: bool(info.integer),
        ValueTag.DOUBLE: info.real,
        ValueTag.STRING: (info.string or b"").decode(errors="replace"),
    }.get(tag)
    return Slot(tag, None, value)


class MethodMeta(ExplainsMembers):
    """The inputs, outputs and requirements of a method, which are known before it is loaded."""

    def __init__(self, program: "Program", index: int):
        self._program = program
        self._index = index
        self._error = CError()
        info = CMethodInfo()
        check(library().fl_program_method_info(program.handle, index, info, self._error), self._error)
        self._info = info
        self.inputs = self._slots(0, info.inputs)
        self.outputs = self._slots(1, info.outputs)

    def _slots(self, direction: int, count: int) -> tuple[Slot, ...]:
        slots: list[Slot] = []
        for index in range(count):
            info = CSlotInfo()
            check(library().fl_program_slot(self._program.handle, self._index, direction, index, info, self._error), self._error)
            slots.append(read_slot(info))
        return tuple(slots)

    def name(self) -> str:
        """Returns the name of the method."""
        return self._info.name.decode(errors="replace")

    def num_inputs(self) -> int:
        """Returns the number of values that `execute` takes."""
        return len(self.inputs)

    def num_outputs(self) -> int:
        """Returns the number of values that `execute` returns."""
        return len(self.outputs)

    def input_tag(self, index: int) -> ValueTag:
        """Returns the kind of an input."""
        return self._slot(self.inputs, "input", index).tag

    def output_tag(self, index: int) -> ValueTag:
        """Returns the kind of an output."""
        return self._slot(self.outputs, "output", index).tag

    def input_tensor_meta(self, index: int) -> TensorInfo:
        """Returns the requirements on a tensor input.

        Raises:
            IndexError: there is no such input.
            TypeError: the input is not a tensor.
        """
        return self._tensor(self.inputs, "input", index)

    def output_tensor_meta(self, index: int) -> TensorInfo:
        """Returns the description of a tensor output.

        Raises:
            IndexError: there is no such output.
            TypeError: the output is not a tensor.
        """
        return self._tensor(self.outputs, "output", index)

    def _tensor(self, slots: tuple[Slot, ...], what: str, index: int) -> TensorInfo:
        slot = self._slot(slots, what, index)
        if slot.tensor is None:
            raise TypeError(f"{what} {index} of {self.name()!r} is not a tensor but {slot.tag.name}")
        return slot.tensor

    def _slot(self, slots: tuple[Slot, ...], what: str, index: int) -> Slot:
        if not 0 <= index < len(slots):
            has = f"its {what}s are 0 to {len(slots) - 1}" if slots else f"it has no {what}s"
            raise IndexError(f"method {self.name()!r} has no {what} {index}; {has}")
        return slots[index]

    def written_inputs(self) -> frozenset[int]:
        """Returns the indices of the inputs that the method writes; `execute` changes the caller's arrays for these inputs."""
        try:
            methods = json.loads(str(self._program.named_data["flambeau.json"], "utf-8"))["methods"]
            return frozenset(methods[self.name()].get("writes", ())) & frozenset(range(self.num_inputs()))
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            return frozenset()  # programs of other compilers do not record it

    def num_instructions(self) -> int:
        """Returns the number of instructions in all chains."""
        return self._info.instructions

    def num_memory_planned_buffers(self) -> int:
        """Returns the number of arenas of the method."""
        return self._info.arenas

    def memory_planned_buffer_size(self, index: int) -> int:
        """Returns the bytes of arena `index`."""
        return library().fl_program_arena_size(self._program.handle, self._index, index)

    @property
    def encodings(self) -> tuple[str, str]:
        """The nesting of inputs and of outputs in the exporter's encoding; empty strings if the program does not record it."""
        return self._info.input_encoding.decode(errors="replace"), self._info.output_encoding.decode(errors="replace")

    @property
    def operator_names(self) -> tuple[str, ...]:
        """The names of the operators that the method calls."""
        names: list[str] = []
        for index in range(self._info.operators):
            length = library().fl_program_operator(self._program.handle, self._index, index, None, 0)
            buffer = ctypes.create_string_buffer(length + 1)
            library().fl_program_operator(self._program.handle, self._index, index, buffer, length + 1)
            names.append(buffer.value.decode(errors="replace"))
        return tuple(names)

    @property
    def backend_names(self) -> tuple[str, ...]:
        """The ids of the backends of the method's delegates, one per delegate."""
        count = range(self._info.delegates)
        return tuple(library().fl_program_delegate(self._program.handle, self._index, index).decode(errors="replace") for index in count)

    def uses_backend(self, name: str) -> bool:
        """Returns whether a delegate of the method names this backend."""
        return name in self.backend_names

    @property
    def memory(self) -> Memory:
        """The bytes of memory that the method takes on this machine.

        Raises:
            FlambeauError: the method cannot be loaded here; the message lists all that is missing.
        """
        requirements = CRequirements()
        status = self._measure(requirements)
        if status in (Status.OPERATOR_MISSING, Status.NOT_FOUND) and discover():
            status = self._measure(requirements)
        if status == Status.OPERATOR_MISSING:  # the text of a C error is too short for many
            missing = [name for name in self.operator_names if name not in kernel_names()]
            groups = {name: library().fl_left_out_group(name.encode()) for name in missing}
            missing = [
                (name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}...") + (f" (group {group.decode()})" if group else "")
                for name, group in groups.items()
            ]
            text = f"method {self.name()!r} calls operators that this runtime does not have: {', '.join(missing)}"
            if any(groups.values()):
                text += "; FLAMBEAU_GROUPS of its build leaves these groups out"
            raise FlambeauError(Status.OPERATOR_MISSING, text)
        check(status, self._error)
        arenas = range(self.num_memory_planned_buffers())
        return Memory(requirements.method, requirements.scratch, tuple(self.memory_planned_buffer_size(index) for index in arenas))

    def _measure(self, requirements: CRequirements) -> int:
        return library().fl_method_measure(self._program.handle, self._index, registry(self._program.options), requirements, self._error)

    def __repr__(self) -> str:
        def text(slot: Slot) -> str:
            if slot.tensor is None:
                return slot.tag.name.lower()
            return f"{slot.tensor.type}[{', '.join(('≤' if slot.tensor.is_dynamic else '') + str(size) for size in slot.tensor.shape)}]"

        return f"{self.name()}({', '.join(map(text, self.inputs))}) -> ({', '.join(map(text, self.outputs))})"
