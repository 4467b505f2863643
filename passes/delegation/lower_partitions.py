"""`lower-partitions`: compiles each partition to the payload of its backend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec.method import NamedDataOp
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.ml_program import BlobStore
from flambeau.passes.delegation.interface import BackendError, find_identifier, unknown_identifier
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.constants import ModuleConstants, blob_store

if TYPE_CHECKING:
    from typing_extensions import Buffer


@dataclass(frozen=True)
class LowerPartitionsPass(ModulePass):
    """Replaces each `delegate.partition` by the `delegate.payload` that its backend compiles it to.

    What a payload finds by name in the program becomes `exec.named_data`.

    Needs: partitions of installed backends. Leaves none; their calls name the payloads. Raises OperationError for another.
    """

    name = "lower-partitions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        constants, named = ModuleConstants(ctx, op), _NamedData(blob_store(ctx), op)
        for partition in [item for item in op.body.block.ops if isinstance(item, PartitionOp)]:
            name, identifier = partition.sym_name.data, partition.backend.data
            backend = find_identifier(identifier)
            if backend is None:
                raise OperationError(partition, f"partition @{name} cannot be lowered: {unknown_identifier(identifier)}")
            if not may_rewrite(self.name, partition):
                continue
            try:
                encoded = backend.encode(partition, constants)
            except BackendError as error:
                raise OperationError(partition, str(error)) from error
            blob = blob_store(ctx).add(f"payload.{name}", encoded.data)
            named.add(encoded.named_data, partition)
            payload = PayloadOp(name, identifier, blob, partition.function_type, partition.specs)
            payload.location = partition.location
            op.body.block.insert_op_before(payload, partition)
            count("partitions compiled")
            partition.detach()
            partition.erase()


class _NamedData:
    """The named data of a module."""

    def __init__(self, blobs: BlobStore, module: ModuleOp):
        self._blobs = blobs
        self._module = module
        self._values = {op.key.data: op.value for op in module.body.block.ops if isinstance(op, NamedDataOp)}

    def add(self, items: Mapping[str, Buffer], partition: PartitionOp) -> None:
        """Adds what a payload finds by name. Raises OperationError for a name that has another content."""
        for key, data in items.items():
            blob = self._blobs.add(f"named_data.{key}", data)
            known = self._values.setdefault(key, blob)
            if known != blob:
                name = f"partition @{partition.sym_name.data}"
                raise OperationError(partition, f"{name} has other named data {key!r} than a payload before it: give it another name")
            if known is blob:
                self._module.body.block.insert_op_before(NamedDataOp(key, blob), partition)
