"""Subgraphs of XNNPACK, in the payloads of ExecuTorch's backend of this name; README.md in this folder says more."""

from flambeau.passes.delegation.interface import Backend
from flambeau.support.lazy import later

BACKEND = Backend(
    "xnnpack",
    "XnnpackBackend",
    refuse=later("flambeau.backends.xnnpack.legality:refuse"),
    absorbs=later("flambeau.backends.xnnpack.legality:absorbs"),
    convert=later("flambeau.backends.xnnpack.lower:convert"),
    encode=later("flambeau.backends.xnnpack.encode:encode"),
    decode=later("flambeau.backends.xnnpack.decode:decode"),
)
