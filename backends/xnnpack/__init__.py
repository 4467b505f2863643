"""Subgraphs of XNNPACK, in the payloads of ExecuTorch's backend of this name; README.md in this folder says more."""

from flambeau.passes.delegation.interface import Backend, one_by_one
from flambeau.support.lazy import later

BACKEND = Backend(
    "xnnpack",
    "XnnpackBackend",
    table=later("flambeau.backends.xnnpack.legality:table"),
    convert=later("flambeau.backends.xnnpack.lower:convert"),
    encode=one_by_one(later("flambeau.backends.xnnpack.encode:encode")),
    decode=later("flambeau.backends.xnnpack.decode:decode"),
)
