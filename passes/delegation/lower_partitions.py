"""`lower-partitions`: compiles each partition to the payload of its backend."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.passes import ModulePass

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp, states_of
from flambeau.dialects.exec.method import NamedDataOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.passes.delegation.contents import record_contents, specs_with_origin
from flambeau.passes.delegation.interface import BackendError, Encoded, located
from flambeau.passes.delegation.lowering.states import take_states
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import count
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.constants import ModuleConstants, blob_store

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from flambeau.support.lazy import Array


@dataclass(frozen=True)
class LowerPartitionsPass(ModulePass):
    """Replaces each `delegate.partition` by the `delegate.payload` that its backend compiles it to.

    A backend is given the partitions of all methods that have the same compile specs at once. What a payload finds by name in the program
    becomes `exec.named_data`. A state that one partition alone reads and writes goes into its payload, where its backend takes it over.

    Needs: partitions of installed backends. Leaves none; their calls name the payloads. Raises OperationError for another.
    """

    name = "lower-partitions"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Rewrites `op` in place."""
        constants, named = ModuleConstants(ctx, op), _NamedData(blob_store(ctx), op)
        take_states(op, constants, _takes_state)
        together: dict[tuple[StringAttr, DictionaryAttr | None], list[PartitionOp]] = {}
        for partition in op.body.block.ops:
            if isinstance(partition, PartitionOp):
                together.setdefault((partition.backend, partition.specs), []).append(partition)
        for partitions in together.values():
            chosen = Partitioner.for_partition(partitions[0], "lowered")
            if (missing := chosen.backend.missing()) is not None:
                raise OperationError(partitions[0], missing)
            partitions = [partition for partition in partitions if may_rewrite(self.name, partition)]
            for partition, encoded in zip(partitions, _encoded(partitions, constants, chosen), strict=True):
                name = partition.sym_name.data
                blob = blob_store(ctx).add(f"payload.{name}", encoded.data)
                named.add(encoded.named_data, partition)
                specs = specs_with_origin(name, partition.specs, encoded, blob_store(ctx))
                payload = PayloadOp(name, partition.backend.data, blob, _called(partition), specs)
                record_contents(partition)
                payload.attributes = dict(partition.attributes)
                payload.location = partition.location
                op.body.block.insert_op_before(payload, partition)
                count("partitions compiled")
                partition.detach()
                partition.erase()


def _takes_state(partition: PartitionOp, first: Array) -> bool:
    """Returns whether the backend of a partition keeps a state with this first value."""
    chosen = Partitioner.for_partition(partition, "lowered")
    return chosen.backend.takes_state is not None and chosen.backend.takes_state(first, chosen.options)


def _called(partition: PartitionOp) -> FunctionType:
    """Returns the type of the calls of a partition, which have no states."""
    count, kind = len(states_of(partition)), partition.function_type
    return FunctionType.from_lists(kind.inputs.data[: len(kind.inputs) - count], kind.outputs.data[: len(kind.outputs) - count])


def _encoded(partitions: Sequence[PartitionOp], constants: ModuleConstants, chosen: Partitioner) -> Sequence[Encoded]:
    if not partitions:
        return ()
    try:
        return chosen.backend.encode(partitions, constants, chosen.options)
    except BackendError as error:
        raise located(error, partitions[0]) from error


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
