"""Decodes payloads to partitions in the dialects of their backends."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass

from xdsl.dialects.builtin import StringAttr, SymbolRefAttr

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.passes.delegation.contents import specs_of_options
from flambeau.passes.delegation.interface import BackendError, find_identifier


@dataclass(frozen=True)
class Disassembled:
    """A payload as IR that is in no module yet.

    Attributes:
        partition: it has the name of the payload.
        constants: the globals that it loads, whose names begin with that of the payload.
        named_data: the keys of the program's named data that it reads.
    """

    partition: PartitionOp
    constants: tuple[GlobalOp, ...]
    named_data: tuple[str, ...]


class _Seen(Mapping[str, memoryview]):
    """A mapping of named data that records the keys read."""

    def __init__(self, data: Mapping[str, memoryview]):
        self._data = data
        self.keys_read: dict[str, None] = {}

    def __getitem__(self, key: str) -> memoryview:
        found = self._data[key]
        self.keys_read[key] = None
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)


def disassemble(payload: PayloadOp, named_data: Mapping[str, memoryview], blobs: BlobStore, taken: Container[str] = ()) -> Disassembled:
    """Decodes a payload.

    Args:
        payload: of any program.
        named_data: that of the program.
        blobs: holds the payload's bytes, and receives its constants.
        taken: names that the globals must not have.

    Raises:
        BackendError: the payload is damaged, or its backend is not here or has payloads that nothing reads.
    """
    name, identifier = payload.sym_name.data, payload.backend.data
    data = blobs.get(payload.data)
    backend = find_identifier(identifier)
    if backend is None or backend.decode is None:
        why = "no backend here is called so by programs" if backend is None else "the backend does not say how they are read"
        raise BackendError(f"its {len(data)} bytes are for {identifier!r} only: {why}")
    seen = _Seen(named_data)
    module = backend.decode(data, seen, blobs)
    partition = next(op for op in module.body.block.ops if isinstance(op, PartitionOp))
    declared, found = payload.function_type, partition.function_type
    if declared is not None and declared != found:
        raise BackendError(f"it computes {found}, and the program says that it computes {declared}")
    constants = tuple(op for op in module.body.block.ops if isinstance(op, GlobalOp))
    stem = f"{name}_"
    while any(f"{stem}{op.sym_name.data}" in taken for op in constants):
        stem += "_"
    for op in constants:
        op.sym_name = StringAttr(f"{stem}{op.sym_name.data}")
        if isinstance(op.value, BlobAttr):
            # Different payloads of a program may use the same name for different weights.
            op.value = blobs.add(op.sym_name.data, blobs.get(op.value))
        op.detach()
    for op in partition.body.walk():
        if isinstance(op, GlobalLoadConstantOp):
            op.global_attr = SymbolRefAttr(f"{stem}{op.global_attr.string_value()}")
    partition.detach()
    partition.sym_name = payload.sym_name
    partition.specs = specs_of_options(payload)
    partition.location = payload.location
    return Disassembled(partition, constants, tuple(seen.keys_read))
