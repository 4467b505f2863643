"""Reads the bytes of a `.pte` as records. The reader never reads outside of the given bytes, and copies no weights."""

import struct
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, cast

from flambeau.runtime.flatbuffer import Decoder
from flambeau.runtime.pte import flatbuffer_tables as schema
from flambeau.runtime.pte.bundled import is_bundled
from flambeau.runtime.pte.check import MAXIMUM_RANK, check_program
from flambeau.runtime.pte.records import (
    EMPTY,
    BackendDelegate,
    ExecutionPlan,
    NamedData,
    Program,
    PteError,
    Tensor,
    TensorDataLocation,
)

if TYPE_CHECKING:
    from typing_extensions import Buffer

IDENTIFIER = b"ET12"
HEADER_MAGIC = b"eh00"


@dataclass(frozen=True, slots=True)
class ExtendedHeader:
    """The header with the positions at which the flatbuffer ends and the segments begin.

    Attributes:
        program_size: bytes from the start of the file to the end of the flatbuffer.
        segment_base_offset: bytes from the start of the file to the first segment; 0: there are no segments.
        segment_data_size: bytes of all segments; 0 in older files, which lack this field.
    """

    program_size: int
    segment_base_offset: int
    segment_data_size: int


def read_header(data: memoryview) -> ExtendedHeader | None:
    """Returns the extended header, or None for a file that consists of the flatbuffer alone.

    Raises:
        PteError: the file is cut off, or its sizes contradict each other.
    """
    if len(data) < 8:
        raise PteError(f"not a .pte program: it has {len(data)} bytes, fewer than its first fields take")
    if is_bundled(data):
        raise PteError("not a .pte program but a bundled one, a .bpte: give the program in it, which program_in returns")
    if bytes(data[4:8]) != IDENTIFIER:
        raise PteError(f"not a .pte program: bytes 4 to 7 are {bytes(data[4:8])!r}, not {IDENTIFIER!r}")
    if bytes(data[8:12]) != HEADER_MAGIC:
        return None
    if len(data) < 32:
        raise PteError("the program is cut off inside its header")
    (length,) = struct.unpack_from("<I", data, 12)
    if length < 24 or length + 8 > len(data):
        raise PteError(f"the program's header says that it takes {length} bytes, of a file of {len(data)}")
    program_size, base = struct.unpack_from("<QQ", data, 16)
    (size,) = struct.unpack_from("<Q", data, 32) if length >= 32 else (0,)
    if not 8 + length <= program_size <= len(data):
        raise PteError(f"the program is cut off: its header says {program_size} bytes, the file has {len(data)}")
    if base and not program_size <= base <= len(data):
        raise PteError(f"the program is cut off: its segments should start at byte {base} of a file of {len(data)}")
    if base + size > len(data):
        raise PteError(f"the program is cut off: its segments should end at byte {base + size}, the file has {len(data)}")
    return ExtendedHeader(program_size, base, size)


def read_program(data: "Buffer") -> Program:
    """Returns the records of a program, and checks every index and size in them.

    Args:
        data: the whole file: bytes, a memory map, or any other contiguous buffer. The records hold views of it.

    Raises:
        PteError: the bytes are not a program, or the program is damaged.
    """
    file = memoryview(data).toreadonly()
    file = file.cast("B") if file.nbytes else EMPTY
    header = read_header(file)
    flatbuffer = file if header is None else file[: header.program_size]
    program = _resolve(cast(schema.ProgramRecord, Decoder(flatbuffer, "the program", PteError).root(schema.PROGRAM)), file, header)
    check_program(program)
    return program


def _resolve(record: schema.ProgramRecord, file: memoryview, header: ExtendedHeader | None) -> Program:
    """Returns the program of the root record, with bytes in place of references to segments. Raises PteError for missing segments."""
    segments = _segments(record.segments or (), file, header)
    inline = record.backend_delegate_data or ()

    def segment(index: int, what: str) -> memoryview:
        if not 0 <= index < len(segments):
            raise PteError(f"the program is damaged: {what} is in segment {index} of {len(segments)}")
        return segments[index]

    def delegate(given: schema.DelegateRecord) -> BackendDelegate:
        reference = given.processed
        if reference is None:
            raise PteError(f"the program is damaged: delegate {given.id} has no data")
        if reference.location == 1:
            return BackendDelegate(given.id, segment(reference.index, f"delegate {given.id}"), given.compile_specs)
        if reference.location != 0 or reference.index >= len(inline):
            raise PteError(f"the program is damaged: delegate {given.id} refers to inline data {reference.index} of {len(inline)}")
        return BackendDelegate(given.id, inline[reference.index].data, given.compile_specs)

    plans = [
        ExecutionPlan(
            name=plan.name,
            container_meta_type=plan.container_meta_type,
            values=plan.values,
            inputs=plan.inputs,
            outputs=plan.outputs,
            chains=plan.chains,
            operators=plan.operators,
            delegates=tuple(map(delegate, plan.delegates)),
            non_const_buffer_sizes=plan.non_const_buffer_sizes,
            non_const_buffer_device=plan.non_const_buffer_device,
        )
        for plan in record.execution_plan
    ]

    if record.constant_segment is not None and record.constant_segment.offsets:
        if record.constant_buffer:
            raise PteError("the program is damaged: it has constants both in a segment and inline")
        constants = _entries(record.constant_segment, segment, _uses(plans, mutable=False), "constant")
    else:
        constants = tuple(buffer.data for buffer in record.constant_buffer or ()) or (EMPTY,)
    uses = _uses(plans, mutable=True)
    mutable = tuple(_entries(offsets, segment, uses, "initial value") for offsets in record.mutable_data_segments or ())
    named = tuple(NamedData(item.key, segment(item.segment_index, f"named data {item.key!r}")) for item in record.named_data or ())
    return Program(tuple(plans), constants, mutable, named, record.version)


def _segments(table: tuple[schema.DataSegment, ...], file: memoryview, header: ExtendedHeader | None) -> list[memoryview]:
    base = header.segment_base_offset if header else 0
    # ExecuTorch writes one empty segment, and no header, for a program that has no data at all.
    if not base and any(entry.size for entry in table):
        raise PteError(f"the program is damaged: it names {len(table)} segments but its header has none")
    end = base + header.segment_data_size if header and header.segment_data_size else len(file)
    for index, entry in enumerate(table):
        if base + entry.offset + entry.size > end:
            raise PteError(f"the program is cut off: segment {index} should end at byte {base + entry.offset + entry.size} of {end}")
    return [file[base + entry.offset : base + entry.offset + entry.size] for entry in table]


def _uses(plans: list[ExecutionPlan], mutable: bool) -> dict[int, int]:
    """Returns the number of bytes that the tensors of `plans` use of each entry, by the index of the entry.

    The file has only the starts of entries. Entries are constants, or initial values if `mutable`. Raises PteError for a tensor whose rank
    is over the limit.
    """
    uses: dict[int, int] = {}
    for plan in plans:
        for value in plan.values:
            if isinstance(value, Tensor) and value.data_buffer_idx and (value.allocation_info is not None) == mutable:
                extra = value.extra_tensor_info
                if extra is None or extra.location is not TensorDataLocation.EXTERNAL:
                    if len(value.sizes) > MAXIMUM_RANK:
                        raise PteError(f"method {plan.name!r}: a tensor has rank {len(value.sizes)}, over the limit of {MAXIMUM_RANK}")
                    uses[value.data_buffer_idx] = max(uses.get(value.data_buffer_idx, 0), value.nbytes)
    return uses


def _entries(offsets: schema.SubsegmentOffsets, segment: "_Segment", uses: dict[int, int], what: str) -> tuple[memoryview, ...]:
    if len(offsets.offsets) <= 1:
        return (EMPTY,)
    data = segment(offsets.segment_index, f"the {what}s")
    # An entry that no tensor uses ends where the next entry starts.
    starts = sorted({*offsets.offsets, len(data)})
    following = dict(pairwise(starts))
    views = [EMPTY]
    for index, start in enumerate(offsets.offsets[1:], 1):
        end = start + uses[index] if index in uses else following.get(start, start)
        if start > len(data) or end > len(data):
            raise PteError(f"the program is damaged: {what} {index} takes bytes {start} to {end} of a segment of {len(data)}")
        views.append(data[start:end])
    return tuple(views)


if TYPE_CHECKING:
    from collections.abc import Callable

    _Segment = Callable[[int, str], memoryview]
