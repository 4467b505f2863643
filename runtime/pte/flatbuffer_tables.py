"""The tables of `schema/program.fbs`, with their fields in the order of the format, for the reader and the writer."""

from dataclasses import dataclass

from flambeau.runtime.flatbuffer import Data, Ref, Refs, Scalar, Scalars, Table, Text, Union
from flambeau.runtime.pte import records

# Records of the file that the public records (records.py) do not have, because they hold the bytes instead of references.


@dataclass(frozen=True, slots=True)
class DelegateReference:
    """A reference to a delegate's bytes: `Program.backend_delegate_data[index]` if `location` is 0, segment `index` if it is 1."""

    location: int = 0
    index: int = 0


@dataclass(frozen=True, slots=True)
class DelegateRecord:
    """A delegate, with a reference in place of its bytes."""

    id: str
    processed: DelegateReference | None = None
    compile_specs: tuple[records.CompileSpec, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanRecord:
    """A method as in `records.ExecutionPlan`, but with references in place of its delegates' bytes."""

    name: str
    container_meta_type: records.ContainerMetadata | None = None
    values: tuple[records.Value, ...] = ()
    inputs: tuple[int, ...] = ()
    outputs: tuple[int, ...] = ()
    chains: tuple[records.Chain, ...] = ()
    operators: tuple[records.Operator, ...] = ()
    delegates: tuple[DelegateRecord, ...] = ()
    non_const_buffer_sizes: tuple[int, ...] = ()
    non_const_buffer_device: tuple[records.NonConstBufferDevice, ...] | None = None


@dataclass(frozen=True, slots=True)
class InlineBytes:
    """Bytes inside the flatbuffer."""

    data: memoryview = records.EMPTY


@dataclass(frozen=True, slots=True)
class DataSegment:
    """Bytes after the flatbuffer: `size` bytes, `offset` bytes after the segment base."""

    offset: int = 0
    size: int = 0


@dataclass(frozen=True, slots=True)
class SubsegmentOffsets:
    """The offsets in bytes of the entries of a segment, from its start."""

    segment_index: int = 0
    offsets: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class NameRecord:
    """A name for a segment."""

    key: str
    segment_index: int = 0


@dataclass(frozen=True, slots=True)
class ProgramRecord:
    """The root table of the file."""

    version: int = 0
    execution_plan: tuple[PlanRecord, ...] = ()
    constant_buffer: tuple[InlineBytes, ...] | None = None
    backend_delegate_data: tuple[InlineBytes, ...] | None = None
    segments: tuple[DataSegment, ...] | None = None
    constant_segment: SubsegmentOffsets | None = None
    mutable_data_segments: tuple[SubsegmentOffsets, ...] | None = None
    named_data: tuple[NameRecord, ...] | None = None


ALLOCATION_DETAILS = Table(
    records.AllocationDetails, {"memory_id": Scalar("I"), "memory_offset_low": Scalar("I"), "memory_offset_high": Scalar("I")}
)
EXTRA_TENSOR_INFO = Table(
    records.ExtraTensorInfo,
    {
        "mutable_data_segments_idx": Scalar("Q"),
        "fully_qualified_name": Text(),
        "location": Scalar("b", records.TensorDataLocation),
        "device_type": Scalar("b", records.DeviceType),
        "device_index": Scalar("b"),
    },
)
TENSOR = Table(
    records.Tensor,
    {
        "scalar_type": Scalar("b", records.ScalarType),
        "storage_offset": Scalar("i"),
        "sizes": Scalars("i"),
        "dim_order": Scalars("B"),
        "requires_grad": Scalar("?", bool),
        "data_buffer_idx": Scalar("I"),
        "allocation_info": Ref(ALLOCATION_DETAILS),
        "layout": Scalar("b"),
        "shape_dynamism": Scalar("b", records.TensorShapeDynamism),
        "extra_tensor_info": Ref(EXTRA_TENSOR_INFO),
    },
)
VALUE = Union(
    "EValue",
    (
        Table(records.Null, {}),
        Table(records.Int, {"int_val": Scalar("q")}),
        Table(records.Bool, {"bool_val": Scalar("?", bool)}),
        Table(records.Double, {"double_val": Scalar("d", float)}),
        TENSOR,
        Table(records.String, {"string_val": Text(required=True)}),
        Table(records.IntList, {"items": Scalars("q")}),
        Table(records.DoubleList, {"items": Scalars("d", float)}),
        Table(records.BoolList, {"items": Scalars("?", bool)}),
        Table(records.TensorList, {"items": Scalars("i")}),
        Table(records.OptionalTensorList, {"items": Scalars("i")}),
    ),
)
INSTRUCTION = Union(
    "Instruction",
    (
        Table(records.KernelCall, {"op_index": Scalar("i"), "args": Scalars("i")}),
        Table(records.DelegateCall, {"delegate_index": Scalar("i"), "args": Scalars("i")}),
        Table(records.MoveCall, {"move_from": Scalar("i"), "move_to": Scalar("i")}),
        Table(records.JumpFalseCall, {"cond_value_index": Scalar("i"), "destination_instruction": Scalar("i")}),
        Table(records.FreeCall, {"value_index": Scalar("i")}),
    ),
)
FRAME = Table(records.Frame, {"filename": Text(), "lineno": Scalar("i"), "name": Text(), "context": Text()})
FRAME_LIST = Table(records.FrameList, {"items": Refs(FRAME)})
CHAIN = Table(
    records.Chain,
    {
        "inputs": Scalars("i"),
        "outputs": Scalars("i"),
        "instructions": Refs(INSTRUCTION),
        "stacktrace": Refs(FRAME_LIST, optional=True),
    },
)
OPERATOR = Table(records.Operator, {"name": Text(required=True), "overload": Text(required=True)})
DELEGATE_REFERENCE = Table(DelegateReference, {"location": Scalar("b"), "index": Scalar("I")})
COMPILE_SPEC = Table(records.CompileSpec, {"key": Text(required=True), "value": Data()})
DELEGATE = Table(DelegateRecord, {"id": Text(required=True), "processed": Ref(DELEGATE_REFERENCE), "compile_specs": Refs(COMPILE_SPEC)})
CONTAINER_METADATA = Table(records.ContainerMetadata, {"encoded_inp_str": Text(), "encoded_out_str": Text()})
BUFFER_DEVICE = Table(
    records.NonConstBufferDevice,
    {"buffer_idx": Scalar("i"), "device_type": Scalar("b", records.DeviceType), "device_index": Scalar("b")},
)
PLAN = Table(
    PlanRecord,
    {
        "name": Text(required=True),
        "container_meta_type": Ref(CONTAINER_METADATA),
        "values": Refs(VALUE),
        "inputs": Scalars("i"),
        "outputs": Scalars("i"),
        "chains": Refs(CHAIN),
        "operators": Refs(OPERATOR),
        "delegates": Refs(DELEGATE),
        "non_const_buffer_sizes": Scalars("q"),
        "non_const_buffer_device": Refs(BUFFER_DEVICE, optional=True),
    },
)
BUFFER = Table(InlineBytes, {"data": Data(16)})
DATA_SEGMENT = Table(DataSegment, {"offset": Scalar("Q"), "size": Scalar("Q")})
SUBSEGMENT_OFFSETS = Table(SubsegmentOffsets, {"segment_index": Scalar("I"), "offsets": Scalars("Q")})
NAMED_DATA = Table(NameRecord, {"key": Text(required=True), "segment_index": Scalar("I")})
PROGRAM = Table(
    ProgramRecord,
    {
        "version": Scalar("I"),
        "execution_plan": Refs(PLAN),
        "constant_buffer": Refs(BUFFER, optional=True),
        "backend_delegate_data": Refs(BUFFER, optional=True),
        "segments": Refs(DATA_SEGMENT, optional=True),
        "constant_segment": Ref(SUBSEGMENT_OFFSETS),
        "mutable_data_segments": Refs(SUBSEGMENT_OFFSETS, optional=True),
        "named_data": Refs(NAMED_DATA, optional=True),
    },
)
