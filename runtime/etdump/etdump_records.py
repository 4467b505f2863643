"""The records of an ETDump, with the fields of ExecuTorch's `devtools/etdump/etdump_schema_flatcc.fbs`."""

from dataclasses import dataclass
from enum import IntEnum

from flambeau.runtime.pte.records import Bool, Double, Int


class ValueType(IntEnum):
    """The kind of a value."""

    NULL = 0
    INT = 1
    BOOL = 2
    FLOAT = 3
    DOUBLE = 4
    TENSOR = 5
    TENSOR_LIST = 6
    STRING = 7


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor, whose bytes begin at `offset` of the debug buffer."""

    scalar_type: int = 0
    sizes: tuple[int, ...] = ()
    strides: tuple[int, ...] = ()
    offset: int = 0


@dataclass(frozen=True, slots=True)
class TensorList:
    """A list of tensors."""

    tensors: tuple[Tensor, ...] = ()


@dataclass(frozen=True, slots=True)
class Float:
    """A real number of 32 bits."""

    float_val: float = 0.0


@dataclass(frozen=True, slots=True)
class Value:
    """A value of a program, in the field for the kind `val`. `output` is set for an output of the method."""

    val: ValueType = ValueType.NULL
    tensor: Tensor | None = None
    tensor_list: TensorList | None = None
    int_value: Int | None = None
    float_value: Float | None = None
    double_value: Double | None = None
    bool_value: Bool | None = None
    output: Bool | None = None


@dataclass(frozen=True, slots=True)
class DebugEvent:
    """A value that an instruction computed."""

    chain_index: int = 0
    instruction_id: int = -1
    debug_entry: Value | None = None
    delegate_debug_id_int: int = -1
    delegate_debug_id_str: str | None = None
    name: str | None = None


@dataclass(frozen=True, slots=True)
class AllocationEvent:
    """An allocation of memory from an allocator."""

    allocator_id: int = 0
    allocation_size: int = 0


@dataclass(frozen=True, slots=True)
class ProfileEvent:
    """The duration of an instruction, or of the execution of a method, for which `chain_index` is -1."""

    name: str | None = None
    chain_index: int = 0
    instruction_id: int = -1
    delegate_debug_id_int: int = -1
    delegate_debug_id_str: str | None = None
    delegate_debug_metadata: memoryview | None = None
    start_time: int = 0
    end_time: int = 0


@dataclass(frozen=True, slots=True)
class Event:
    """An event of a run, in one of the fields."""

    profile_event: ProfileEvent | None = None
    allocation_event: AllocationEvent | None = None
    debug_event: DebugEvent | None = None


@dataclass(frozen=True, slots=True)
class Allocator:
    """An allocator of memory."""

    name: str | None = None


@dataclass(frozen=True, slots=True)
class RunData:
    """The events of one run."""

    name: str | None = None
    bundled_input_index: int = -1
    allocators: tuple[Allocator, ...] | None = None
    events: tuple[Event, ...] = ()


@dataclass(frozen=True, slots=True)
class ETDump:
    """The events of several runs."""

    version: int = 0
    run_data: tuple[RunData, ...] = ()
