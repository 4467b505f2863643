"""Writes a whole program as a TFLite file: a graph and a signature for each method, and what runtimes read of the file before they run it.

Sources: `schema.fbs` of LiteRT; for `min_runtime_version`, its `runtime_version.cc`; for `OfflineMemoryAllocation`, the page
`memory_management.md` of TFLM.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from flambeau.backends.litert.encode import ModelWriter
from flambeau.backends.litert.payload import DTYPES, METADATA, SIGNATURE, TENSOR_NAME
from flambeau.backends.litert.runtime_versions import runtime_version
from flambeau.dialects.ir.tensor_types import dtype_of
from flambeau.passes.delegation.interface import BackendOptions, WholeMethod
from flambeau.passes.planning.buffers import Buffer
from flambeau.passes.planning.portfolio import plan_buffers
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np

KEY = "serving_default"
"""The key of the signature of a file with one method, as LiteRT's converters of PyTorch models have it."""
ALIGNMENT = 16
"""The alignment of tensors in an arena of TFLM, in bytes."""
_SIZES = {number: dtype_of(element).size for element, number in DTYPES.items()}
_VERSION_BYTES = 16
"""The bytes of the buffer with the version of a runtime."""


def encode_file(methods: Sequence[WholeMethod], constants: ModuleConstants, options: BackendOptions) -> bytes:
    """Returns a file of methods. That of one method has a memory plan. Raises BackendError for what the format cannot hold."""
    writer = ModelWriter(constants)
    graphs = [writer.add(method.partition.body.block, method.name, (method.inputs, method.outputs)) for method in methods]
    signatures = [
        SIGNATURE.record(
            inputs=_names(method.inputs, graph.inputs),
            outputs=_names(method.outputs, graph.outputs),
            signature_key=KEY if len(methods) == 1 else method.name,
            subgraph_index=number,
        )
        for number, (method, graph) in enumerate(zip(methods, graphs, strict=True))
    ]
    version = runtime_version(writer.operators).encode().ljust(_VERSION_BYTES, b"\0")
    metadata = {"min_runtime_version": version}
    if len(graphs) == 1 and all(item.shape_signature is None for item in graphs[0].tensors):
        # Offsets of other graphs would overlap those of the first; sizes that only the run knows have none.
        metadata["OfflineMemoryAllocation"] = _plan(graphs[0])
    return writer.model(
        description="Made by Flambeau.",
        metadata=[METADATA.record(name=name, buffer=writer.buffer(data)) for name, data in metadata.items()],
        signature_defs=signatures,
    )


def _names(names: Sequence[str], tensors: Sequence[int]) -> Sequence[Any]:
    return [TENSOR_NAME.record(name=name, tensor_index=number) for name, number in zip(names, tensors, strict=True)]


def _plan(graph: Any) -> bytes:
    """Returns the offset of each tensor of a graph in an arena, -1 for constants, behind the numbers of a version, graphs and tensors."""
    ends = len(graph.operators)
    spans = {number: (0, 1) for number in graph.inputs}
    for step, operator in enumerate(graph.operators):
        spans.update((number, (step, step + 1)) for number in operator.outputs)
        spans.update((number, (spans[number][0], step + 1)) for number in operator.inputs if number in spans)
    spans.update((number, (spans[number][0], max(ends, 1))) for number in graph.outputs)
    sizes = {number: prod(graph.tensors[number].shape) * _SIZES[graph.tensors[number].type] for number in spans}
    plan = plan_buffers([Buffer(*span, sizes[number]) for number, span in spans.items()], alignment=ALIGNMENT)
    offsets = np.full(len(graph.tensors), -1, np.int32)
    offsets[list(spans)] = plan.offsets
    return np.array([1, 1, len(offsets), *offsets], "<i4").tobytes()
