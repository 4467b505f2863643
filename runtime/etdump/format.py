"""Reads and writes the bytes of an ETDump: a flatbuffer after its size."""

from os import PathLike
from pathlib import Path
from typing import cast

from flambeau.runtime.etdump import etdump_records as records
from flambeau.runtime.flatbuffer import Data, Decoder, Encoder, FlatbufferError, Ref, Refs, Scalar, Scalars, Table, Text

IDENTIFIER = b"ED00"

_PREFIX = 4
"""Bytes of the size."""

_TENSOR = Table(records.Tensor, {"scalar_type": Scalar("b"), "sizes": Scalars("q"), "strides": Scalars("q"), "offset": Scalar("q")})
_BOOL = Table(records.Bool, {"bool_val": Scalar("?", bool)})
_VALUE = Table(
    records.Value,
    {
        "val": Scalar("b", records.ValueType),
        "tensor": Ref(_TENSOR),
        "tensor_list": Ref(Table(records.TensorList, {"tensors": Refs(_TENSOR)})),
        "int_value": Ref(Table(records.Int, {"int_val": Scalar("q")})),
        "float_value": Ref(Table(records.Float, {"float_val": Scalar("f", float)})),
        "double_value": Ref(Table(records.Double, {"double_val": Scalar("d", float)})),
        "bool_value": Ref(_BOOL),
        "output": Ref(_BOOL),
    },
)
_PROFILE_EVENT = Table(
    records.ProfileEvent,
    {
        "name": Text(),
        "chain_index": Scalar("i"),
        "instruction_id": Scalar("i", default=-1),
        "delegate_debug_id_int": Scalar("i", default=-1),
        "delegate_debug_id_str": Text(),
        "delegate_debug_metadata": Data(),
        "start_time": Scalar("Q"),
        "end_time": Scalar("Q"),
    },
)
_DEBUG_EVENT = Table(
    records.DebugEvent,
    {
        "chain_index": Scalar("Q"),
        "instruction_id": Scalar("i", default=-1),
        "debug_entry": Ref(_VALUE),
        "delegate_debug_id_int": Scalar("i", default=-1),
        "delegate_debug_id_str": Text(),
        "name": Text(),
    },
)
_ALLOCATION_EVENT = Table(records.AllocationEvent, {"allocator_id": Scalar("i"), "allocation_size": Scalar("Q")})
_EVENT = Table(
    records.Event,
    {"profile_event": Ref(_PROFILE_EVENT), "allocation_event": Ref(_ALLOCATION_EVENT), "debug_event": Ref(_DEBUG_EVENT)},
)
_RUN_DATA = Table(
    records.RunData,
    {
        "name": Text(),
        "bundled_input_index": Scalar("i", default=-1),
        "allocators": Refs(Table(records.Allocator, {"name": Text()}), optional=True),
        "events": Refs(_EVENT),
    },
)
_ETDUMP = Table(records.ETDump, {"version": Scalar("I"), "run_data": Refs(_RUN_DATA)})


class ETDumpError(FlatbufferError):
    """Reports bytes that are not an ETDump, or records that the format cannot hold, in one line for people."""


def write_etdump(dump: records.ETDump) -> bytes:
    """Returns the bytes of the file of an ETDump. Raises ETDumpError for values that the format cannot hold."""
    return Encoder(_ETDUMP, IDENTIFIER, ETDumpError, size_prefixed=True).encode(dump)


def read_etdump(data: bytes | bytearray | memoryview) -> records.ETDump:
    """Returns the records of a file of Flambeau or ExecuTorch. Raises ETDumpError for bytes that are no ETDump."""
    view = memoryview(data)
    if len(view) < 3 * _PREFIX or bytes(view[2 * _PREFIX : 3 * _PREFIX]) != IDENTIFIER:
        raise ETDumpError(f"this is not an ETDump: bytes 8 to 11 are not {IDENTIFIER.decode()!r}")
    size = int.from_bytes(view[:_PREFIX], "little") + _PREFIX
    if size > len(view):
        raise ETDumpError(f"the ETDump is truncated: it has {len(view)} of {size} bytes")
    return cast(records.ETDump, Decoder(view[:size], "the ETDump", ETDumpError).root(_ETDUMP, start=_PREFIX))


def read_etdump_file(path: str | PathLike[str]) -> records.ETDump:
    """Returns what a file says. Raises ETDumpError, OSError."""
    try:
        return read_etdump(Path(path).read_bytes())
    except ETDumpError as error:
        raise ETDumpError(f"{path}: {error}") from error
