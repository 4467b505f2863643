"""`lower-partitions`: compiles each partition to the payload of its backend."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.backends.interface import BackendError, find_identifier, unknown_identifier
from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.constants import ModuleConstants, blob_store


@dataclass(frozen=True)
class LowerPartitionsPass(ModulePass):
    """Replaces each `delegate.partition` by the `delegate.payload` that its backend compiles it to.

    Needs: partitions of installed backends. Leaves none; their calls name the payloads. Raises OperationError for another.
    """

    name = "lower-partitions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        constants = ModuleConstants(ctx, op)
        for partition in [item for item in op.body.block.ops if isinstance(item, PartitionOp)]:
            name, identifier = partition.sym_name.data, partition.backend.data
            backend = find_identifier(identifier)
            if backend is None:
                raise OperationError(partition, f"partition @{name} cannot be lowered: {unknown_identifier(identifier)}")
            if not may_rewrite(self.name, partition):
                continue
            try:
                blob = blob_store(ctx).add(f"payload.{name}", backend.lower(partition, constants))
            except BackendError as error:
                raise OperationError(partition, str(error)) from error
            payload = PayloadOp(name, identifier, blob, partition.function_type, partition.specs)
            payload.location = partition.location
            op.body.block.insert_op_before(payload, partition)
            count("partitions compiled")
            partition.detach()
            partition.erase()
