"""`convert-partitions`: rewrites each partition in the dialect of its backend."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.passes.delegation.contents import record_contents
from flambeau.passes.delegation.interface import BackendError, located
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.constants import ModuleConstants


@dataclass(frozen=True)
class ConvertPartitionsPass(ModulePass):
    """Rewrites the operators of each `delegate.partition` as those of its backend's dialect, if the backend has one.

    Needs: partitions of installed backends. Leaves partitions of the same types, which the interpreter runs by the rows of that dialect.
    Raises OperationError for a backend that is not installed.
    """

    name = "convert-partitions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        constants = ModuleConstants(ctx, op)
        for partition in [item for item in op.body.block.ops if isinstance(item, PartitionOp)]:
            partitioner = Partitioner.for_partition(partition, "converted")
            convert = partitioner.backend.convert
            if convert is None or not may_rewrite(self.name, partition):
                continue
            record_contents(partition)
            try:
                convert(partition, constants, partitioner.options)
            except BackendError as error:
                raise located(error, partition) from error
            count("partitions converted")
