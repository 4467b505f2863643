"""The forms of a graph during compilation: whole, partitioned and converted, lowered, and as bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.exec.method import named_data_of
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import Backend
from flambeau.passes.delegation.lower_partitions import LowerPartitionsPass
from flambeau.passes.delegation.partition import PartitionPass
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import Pipeline
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.pipelines import delegate
from flambeau.runtime.emit import emit_pte
from flambeau.tools.conformance.drawing.graph import STAYS

_TO_PROGRAM = Pipeline.parse("legalize,edge-to-exec,plan")


@dataclass
class Payload:
    """The bytes of a partition's payload, with the named data of the program that the payload reads."""

    identifier: str
    data: bytes
    named_data: Mapping[str, bytes]

    def decoded(self, backend: Backend, data: bytes | None = None) -> ModuleOp:
        """Decodes the payload, or `data` instead, with the backend's `decode`, which must exist. Raises the errors of `decode`."""
        assert backend.decode is not None
        named = {key: memoryview(value) for key, value in self.named_data.items()}
        return backend.decode(memoryview(self.data if data is None else data), named, BlobStore())


class Forms:
    """The forms of a module for one backend, each made from the previous one. Each raises PassError if a pass fails."""

    def __init__(self, partitioner: Partitioner, module: ModuleOp, context: FlambeauContext):
        chosen = partitioner.keeping(lambda op: STAYS in op.attributes)
        passes = delegate(PipelineOptions(backends=(chosen,)))
        # The passes before `partition` would leave nothing of operators that change nothing.
        start, middle = (
            next(i for i, item in enumerate(passes) if isinstance(item, kind)) for kind in (PartitionPass, LowerPartitionsPass)
        )
        # Without its compiler, a backend still converts.
        partition = replace(cast("PartitionPass", passes[start]), are_compiled=False)
        self._before, self._after = Pipeline.of([partition, *passes[start + 1 : middle]]), Pipeline.of(passes[middle:])
        self._context = context
        self.module = module.clone()

    def convert(self) -> int:
        """Cuts partitions and converts them; returns their number."""
        self._before.run(self.module, self._context)
        return sum(isinstance(op, PartitionOp) for op in self.module.body.block.ops)

    def lower(self) -> list[Payload]:
        """Compiles the partitions to payloads."""
        self._after.run(self.module, self._context)
        blobs, payloads = self._context.blobs, [op for op in self.module.body.block.ops if isinstance(op, PayloadOp)]
        named_data = {key: bytes(data) for key, data in named_data_of(self.module, blobs).items()}
        return [Payload(op.backend.data, bytes(blobs.get(op.data)), named_data) for op in payloads]

    def emit(self) -> bytes:
        """Compiles the rest for the CPU, and returns the program."""
        _TO_PROGRAM.run(self.module, self._context)
        return b"".join(emit_pte(self.module, self._context))


def whole_program(module: ModuleOp, context: FlambeauContext) -> bytes:
    """Returns the program of a module that runs only on the CPU."""
    whole = module.clone()
    _TO_PROGRAM.run(whole, context, verify_each=False)  # verification is not under test
    return b"".join(emit_pte(whole, context))
