"""Models of OpenVINO, in its intermediate representation; README.md in this folder says more."""

from flambeau.passes.delegation.interface import Backend, one_by_one
from flambeau.support.lazy import later

BACKEND = Backend(
    "openvino",
    "OpenvinoBackend",
    table=later("flambeau.backends.openvino.legality:table"),
    convert=later("flambeau.backends.openvino.lower:convert"),
    encode=one_by_one(later("flambeau.backends.openvino.encode:encode")),
    decode=later("flambeau.backends.openvino.decode:decode"),
)
