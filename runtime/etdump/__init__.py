"""Reads and writes ETDump, ExecuTorch's format for the events of running programs, as records."""

from flambeau.runtime.etdump.etdump_records import (
    AllocationEvent,
    Allocator,
    Bool,
    DebugEvent,
    Double,
    ETDump,
    Event,
    Float,
    Int,
    ProfileEvent,
    RunData,
    Tensor,
    TensorList,
    Value,
    ValueType,
)
from flambeau.runtime.etdump.format import ETDumpError, read_etdump, read_etdump_file, write_etdump

__all__ = [
    "AllocationEvent",
    "Allocator",
    "Bool",
    "DebugEvent",
    "Double",
    "ETDump",
    "ETDumpError",
    "Event",
    "Float",
    "Int",
    "ProfileEvent",
    "RunData",
    "Tensor",
    "TensorList",
    "Value",
    "ValueType",
    "read_etdump",
    "read_etdump_file",
    "write_etdump",
]
