"""Graphs for Metal Performance Shaders, as ExecuTorch's MPS backend reads them; see README.md in this folder."""

from flambeau.passes.delegation.interface import Backend, Description, State, one_by_one
from flambeau.support.lazy import later

BACKEND = Backend(
    "mps",
    "MPSBackend",
    table=later("flambeau.backends.mps.legality:table"),
    convert=later("flambeau.backends.mps.lower:convert"),
    encode=one_by_one(later("flambeau.backends.mps.encode:encode")),
    decode=later("flambeau.backends.mps.decode:decode"),
    description=Description(
        hardware="GPUs of Apple's devices; not tried on one",
        platform="iOS and macOS, in the runtimes of ExecuTorch before 1.4",
        choose="programs of ExecuTorch 1.3 or older that use the GPU of an Apple device; for newer ones, Core ML",
        runtimes="ExecuTorch before 1.4; numpy here, by the rows of its nodes",
        state=State.INTERCHANGE,
    ),
)
