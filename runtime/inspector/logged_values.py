"""Reads the values in the debug buffer of an ETDump."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from flambeau.runtime.binding.arrays import numpy_dtype
from flambeau.runtime.binding.metadata import DTYPE_NAMES
from flambeau.runtime.etdump import DebugEvent, ETDumpError, RunData, Tensor
from flambeau.runtime.pte.check import MAXIMUM_BYTES, MAXIMUM_RANK

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array


@dataclass(frozen=True)
class LoggedCall:
    """The values of one call of an instruction in a run.

    Attributes:
        name: the name of the event, such as `native_call_add.out`.
        chain, instruction: the numbers of the chain, and of the instruction in it.
        values: the values that were logged, the outputs last.
    """

    name: str
    chain: int
    instruction: int
    values: tuple[Array, ...]


def logged_calls(run: RunData, buffer: bytes) -> list[LoggedCall]:
    """Returns the calls of a run that have values, in the order of their ends. Raises ETDumpError if the buffer lacks their bytes."""
    calls: list[LoggedCall] = []
    for event in run.events:
        if (profiled := event.profile_event) is not None:
            calls.append(LoggedCall(profiled.name or "", profiled.chain_index, profiled.instruction_id, ()))
        elif (debugged := event.debug_event) is not None and (values := tensors_of(debugged, buffer)):
            place = (debugged.chain_index, debugged.instruction_id)
            if not calls or (calls[-1].chain, calls[-1].instruction) != place:
                calls.append(LoggedCall(debugged.name or "", *place, ()))
            last = calls.pop()
            calls.append(LoggedCall(last.name, last.chain, last.instruction, (*last.values, *values)))
    return [call for call in calls if call.values]


def tensors_of(event: DebugEvent, buffer: bytes) -> Sequence[Array]:
    """Returns the tensors of an event, except outputs of the method, which instructions have too. Raises ETDumpError for missing bytes."""
    value = event.debug_entry
    if value is None or (value.output is not None and value.output.bool_val):
        return ()
    items = value.tensor_list.tensors if value.tensor_list is not None else () if value.tensor is None else (value.tensor,)
    return [_array(item, buffer) for item in items]


def _array(tensor: Tensor, buffer: bytes) -> Array:
    import numpy as np

    if tensor.scalar_type not in DTYPE_NAMES:
        raise ETDumpError(f"the ETDump has a value of scalar type {tensor.scalar_type}, which is unknown")
    if len(tensor.sizes) > MAXIMUM_RANK:
        raise ETDumpError(f"the ETDump has a value of {len(tensor.sizes)} dimensions, more than {MAXIMUM_RANK}")
    dtype = numpy_dtype(DTYPE_NAMES[tensor.scalar_type])
    # numpy counts a size of 0 as 1 where it limits the bytes of an array.
    extent = prod(max(size, 1) for size in tensor.sizes) * dtype.itemsize
    if min((tensor.offset, *tensor.sizes), default=0) < 0 or extent > MAXIMUM_BYTES:
        raise ETDumpError(f"the ETDump has a value of sizes {list(tensor.sizes)} at byte {tensor.offset}, which no memory can have")
    count = prod(tensor.sizes)
    if tensor.offset + count * dtype.itemsize > len(buffer):
        size = f"{count * dtype.itemsize} bytes at {tensor.offset}"
        raise ETDumpError(
            f"the debug buffer has {len(buffer)} bytes, and the ETDump refers to {size}: it is cut off, or belongs to another ETDump"
        )
    return np.frombuffer(buffer, dtype, count, tensor.offset).reshape(tensor.sizes) if count else np.empty(tensor.sizes, dtype)
