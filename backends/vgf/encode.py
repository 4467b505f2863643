"""Compiles partitions of `tosa` operators to VGF files."""

from __future__ import annotations

import re

from xdsl.ir import Operation

from flambeau.backends.tosa.encode import encode as encode_graph
from flambeau.backends.vgf import CONVERTER, VgfOptions
from flambeau.backends.vgf.payload import arguments_of, labelled
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.passes.delegation.interface import Encoded, RefusedError
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.vendor_tools.tool import ToolError

_NAMED = re.compile(r"error: .*?'(tosa\.\w+)'")


def encode(partition: PartitionOp, constants: ModuleConstants, options: VgfOptions) -> Encoded:
    """Returns the payload of a partition. Raises RefusedError for what the converter refuses, and ToolError where it does not work."""
    graph = encode_graph(partition, constants, options).data
    try:
        data = CONVERTER.run(["--input", "graph.tosa", "--output", "graph.vgf"], {"graph.tosa": graph}, ["graph.vgf"]).file
    except ToolError as error:
        if (named := _NAMED.search(error.output)) is None:
            raise
        refused: list[Operation] = [op for op in partition.body.block.ops if op.name == named[1]]
        raise RefusedError(dict.fromkeys(refused or [partition], str(error))) from error
    found, kind = arguments_of(memoryview(data)), partition.function_type
    types = ([item.kind for item in found.inputs], [item.kind for item in found.outputs])
    if types != (list(kind.inputs), list(kind.outputs)):
        raise RefusedError({partition: f"{CONVERTER.find().label} writes a file with other inputs or outputs than its graph"})
    return Encoded(labelled(data), made_by=CONVERTER.find().label)
