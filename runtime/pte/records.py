"""The content of a `.pte` file as immutable records: the tables of ExecuTorch's `schema/program.fbs`, with views of the data.

The records lack four parts of the file that only locate bytes: the segment table, the sub-segment offsets, the references from delegates
and names to segments, and the deprecated inline constant buffers. The records that use the bytes hold them instead.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum
from math import prod
from typing import TypeAlias

from flambeau.runtime.scalar_types import BY_NUMBER
from flambeau.support.one_line import OneLineError

EMPTY = memoryview(b"")
"""No bytes."""


class PteError(OneLineError):
    """Reports bytes that are not a well-formed program, or records that the format cannot hold, in one line for people."""


class ScalarType(IntEnum):
    """Element types, with PyTorch's numbers. ExecuTorch's schema does not name the complex types, but its runtime accepts them."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEX_FLOAT = 9
    COMPLEX_DOUBLE = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    QUINT4X2 = 16
    QUINT2X4 = 17
    BITS16 = 22
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29


_QUANTIZED_SIZES = {12: 1, 13: 1, 14: 4, 16: 1, 17: 1, 22: 2}
ELEMENT_SIZE = {kind: BY_NUMBER[kind].size if kind in BY_NUMBER else _QUANTIZED_SIZES[kind] for kind in ScalarType}
"""Bytes of one element."""


def dense_bytes(scalar_type: ScalarType, sizes: Iterable[int]) -> int:
    """Returns the bytes of the elements of a tensor of this type and these sizes."""
    return ELEMENT_SIZE[scalar_type] * prod(sizes)


class TensorShapeDynamism(IntEnum):
    """The change that a tensor's sizes admit: none, any up to the sizes in the file, or any at all (which no runtime loads)."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    """The source of initial bytes: the file itself, or data given beside it under the tensor's name."""

    SEGMENT = 0
    EXTERNAL = 1


class DeviceType(IntEnum):
    """The kind of a device's memory."""

    CPU = 0
    CUDA = 1


@dataclass(frozen=True, slots=True)
class ContainerMetadata:
    """The pytrees of a method's inputs and outputs, as the JSON text of `torch.utils._pytree.treespec_dumps`."""

    encoded_inp_str: str | None = None
    encoded_out_str: str | None = None


@dataclass(frozen=True, slots=True)
class AllocationDetails:
    """The planned memory of a tensor, which starts at byte `memory_offset` of arena `memory_id`. Arena 0 is reserved."""

    memory_id: int = 0
    memory_offset_low: int = 0
    memory_offset_high: int = 0

    @property
    def memory_offset(self) -> int:
        """The 64-bit offset in bytes."""
        return self.memory_offset_high << 32 | self.memory_offset_low

    @classmethod
    def at(cls, memory_id: int, memory_offset: int) -> "AllocationDetails":
        """Returns the record for a 64-bit offset."""
        return cls(memory_id, memory_offset & 0xFFFFFFFF, memory_offset >> 32)


@dataclass(frozen=True, slots=True)
class ExtraTensorInfo:
    """Rare properties of a tensor: a name, data outside of the file, another device."""

    mutable_data_segments_idx: int = 0
    fully_qualified_name: str | None = None
    location: TensorDataLocation = TensorDataLocation.SEGMENT
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor. Its storage follows from `data_buffer_idx` and `allocation_info` as FORMAT.md explains.

    Attributes:
        sizes: elements per dimension; the upper bounds if `shape_dynamism` is `DYNAMIC_BOUND`.
        dim_order: the dimensions from the outermost to the innermost in memory.
        data_buffer_idx: index into `Program.constants`, or into `Program.mutable_data[0]` if there is `allocation_info` too; 0 for none.
    """

    scalar_type: ScalarType
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    data_buffer_idx: int = 0
    allocation_info: AllocationDetails | None = None
    shape_dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC
    extra_tensor_info: ExtraTensorInfo | None = None
    storage_offset: int = 0
    requires_grad: bool = False
    layout: int = 0

    @property
    def nbytes(self) -> int:
        """The bytes of the elements, for the upper bounds of dynamic sizes."""
        return dense_bytes(self.scalar_type, self.sizes)


@dataclass(frozen=True, slots=True)
class Null:
    """The value None."""


@dataclass(frozen=True, slots=True)
class Int:
    """An integer of 64 bits."""

    int_val: int = 0


@dataclass(frozen=True, slots=True)
class Bool:
    """A truth value."""

    bool_val: bool = False


@dataclass(frozen=True, slots=True)
class Double:
    """A floating-point number of 64 bits."""

    double_val: float = 0.0


@dataclass(frozen=True, slots=True)
class String:
    """A text."""

    string_val: str = ""


@dataclass(frozen=True, slots=True)
class IntList:
    """A list of integers, each the index of an `Int` value, because an instruction may write the integer."""

    items: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class DoubleList:
    """A list of floating-point numbers."""

    items: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class BoolList:
    """A list of truth values."""

    items: tuple[bool, ...] = ()


@dataclass(frozen=True, slots=True)
class TensorList:
    """A list of tensors, as the indices of their values."""

    items: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class OptionalTensorList:
    """A list of tensors or None, as the indices of tensor values, or -1 for None."""

    items: tuple[int, ...] = ()


Value: TypeAlias = Null | Int | Bool | Double | Tensor | String | IntList | DoubleList | BoolList | TensorList | OptionalTensorList
"""The kinds of values that an `EValue` holds."""


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator's name, such as `aten::add`, and its overload, such as `out`; empty for the default one."""

    name: str
    overload: str = ""

    @property
    def full_name(self) -> str:
        """The name under which the operator's kernel is registered, such as `aten::add.out`."""
        return f"{self.name}.{self.overload}" if self.overload else self.name


@dataclass(frozen=True, slots=True)
class KernelCall:
    """Calls a kernel with the values of `args`: the arguments of the schema, including the outs, then the returned values."""

    op_index: int
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class DelegateCall:
    """Calls a delegate with the values of `args`: its inputs, then its outputs."""

    delegate_index: int
    args: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class MoveCall:
    """Makes value `move_to` the same as value `move_from`; for a tensor, copies the pointer, not the bytes."""

    move_from: int
    move_to: int


@dataclass(frozen=True, slots=True)
class JumpFalseCall:
    """Continues at instruction `destination_instruction` if value `cond_value_index` is false, or is a tensor with a false element."""

    cond_value_index: int
    destination_instruction: int


@dataclass(frozen=True, slots=True)
class FreeCall:
    """Drops the data of tensor `value_index`, which has no planned memory."""

    value_index: int


Instruction: TypeAlias = KernelCall | DelegateCall | MoveCall | JumpFalseCall | FreeCall
"""One step of a chain."""


@dataclass(frozen=True, slots=True)
class Frame:
    """One level of the Python stack under which an operator was traced."""

    filename: str | None = None
    lineno: int = 0
    name: str | None = None
    context: str | None = None


@dataclass(frozen=True, slots=True)
class FrameList:
    """The Python stack of one instruction."""

    items: tuple[Frame, ...] = ()


@dataclass(frozen=True, slots=True)
class CompileSpec:
    """An option with which a backend compiled a delegate."""

    key: str
    value: memoryview = EMPTY


@dataclass(frozen=True, slots=True)
class BackendDelegate:
    """A part of the program that a backend compiled: the backend's id, the bytes that it reads at load, and its options."""

    id: str
    processed: memoryview = EMPTY
    compile_specs: tuple[CompileSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class Chain:
    """A list of instructions. A plan has one chain in practice; `inputs` and `outputs` are empty and unused."""

    instructions: tuple[Instruction, ...] = ()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    stacktrace: tuple[FrameList, ...] | None = None


@dataclass(frozen=True, slots=True)
class NonConstBufferDevice:
    """The device of an arena that is not in the processor's memory."""

    buffer_idx: int = 0
    device_type: DeviceType = DeviceType.CPU
    device_index: int = 0


@dataclass(frozen=True, slots=True)
class ExecutionPlan:
    """A method.

    Attributes:
        inputs: indices of the values that the caller sets, in the order of the flattened pytree.
        outputs: indices of the values that the caller reads, in the order of the flattened pytree.
        non_const_buffer_sizes: bytes of each arena; entry 0 is reserved and 0.
    """

    name: str
    values: tuple[Value, ...] = ()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    chains: tuple[Chain, ...] = ()
    operators: tuple[Operator, ...] = ()
    delegates: tuple[BackendDelegate, ...] = ()
    non_const_buffer_sizes: tuple[int, ...] = (0,)
    container_meta_type: ContainerMetadata | None = None
    non_const_buffer_device: tuple[NonConstBufferDevice, ...] | None = None


@dataclass(frozen=True, slots=True)
class NamedData:
    """Bytes that backends and tools find by name."""

    key: str
    data: memoryview = EMPTY


@dataclass(frozen=True, slots=True)
class Program:
    """The content of a whole file.

    Attributes:
        constants: the bytes of constant tensors, by `Tensor.data_buffer_idx`; entry 0 means "no constant". An entry read from a file has as
            many bytes as the largest tensor that uses it.
        mutable_data: lists of the initial bytes of mutable tensors, by `Tensor.data_buffer_idx`; runtimes use list 0 only.
    """

    execution_plan: tuple[ExecutionPlan, ...] = ()
    constants: tuple[memoryview, ...] = (EMPTY,)
    mutable_data: tuple[tuple[memoryview, ...], ...] = ()
    named_data: tuple[NamedData, ...] = ()
    version: int = 0
