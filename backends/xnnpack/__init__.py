"""Subgraphs of XNNPACK, in the payloads of ExecuTorch's backend of this name; README.md in this folder says more."""

from collections.abc import Sequence

from flambeau.backends.interface import Backend, later
from flambeau.backends.partitioner import CompileSpec, Partitioner
from flambeau.support.executorch_names import explains_arguments

BACKEND = Backend(
    "xnnpack",
    "XnnpackBackend",
    refuse=later("flambeau.backends.xnnpack.legality:refuse"),
    absorbs=later("flambeau.backends.xnnpack.legality:absorbs"),
    convert=later("flambeau.backends.xnnpack.lower:convert"),
    encode=later("flambeau.backends.xnnpack.encode:encode"),
    decode=later("flambeau.backends.xnnpack.decode:decode"),
)


@explains_arguments
class XnnpackPartitioner(Partitioner):
    """This backend, as users of ExecuTorch name it."""

    def __init__(self, compile_specs: Sequence[CompileSpec] = ()):
        super().__init__(BACKEND.name, compile_specs)
