"""Compiles partitions to subgraphs of XNNPACK, in the payloads of ExecuTorch's backend of this name; see README.md in this folder."""

from collections.abc import Sequence

from flambeau.passes.delegation.interface import Backend, Description, FoundLibrary, State, one_by_one
from flambeau.passes.delegation.partitioner import CompileSpec, Partitioner
from flambeau.support.executorch_names import explains_arguments
from flambeau.support.lazy import later

BACKEND = Backend(
    "xnnpack",
    "XnnpackBackend",
    table=later("flambeau.backends.xnnpack.legality:table"),
    convert=later("flambeau.backends.xnnpack.lower:convert"),
    encode=one_by_one(later("flambeau.backends.xnnpack.encode:encode")),
    decode=later("flambeau.backends.xnnpack.decode:decode"),
    found=FoundLibrary("FLAMBEAU_XNNPACK_LIBRARY", "executorch", "lib", "libexecutorch_backend_xnnpack."),
    description=Description(
        hardware="CPUs: x86, Arm, RISC-V",
        platform="Linux, macOS, Android",
        choose="XNNPACK's kernels on a CPU, in programs that ExecuTorch runs as they are",
        runtimes="Flambeau's runtime, ExecuTorch",
        state=State.RUNS_HERE,
    ),
)


@explains_arguments
class XnnpackPartitioner(Partitioner):
    """The partitioner of this backend, under ExecuTorch's name."""

    def __init__(self, compile_specs: Sequence[CompileSpec] = ()):
        super().__init__(BACKEND.name, compile_specs)
