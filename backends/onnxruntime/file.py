"""Writes a whole program as an ONNX file, with the names of the model.

ONNX has no state. A mutable global of the program is an input of its name, which has the global's first value unless a call gives another,
and its new value is an output, which the metadata `state NAME` name: the caller gives it to the next call.
"""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.backends.onnxruntime.encode import GraphWriter
from flambeau.backends.onnxruntime.messages import MODEL
from flambeau.passes.delegation.interface import BackendError, BackendOptions, WholeMethod
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.runtime.protobuf import encode


def encode_file(methods: Sequence[WholeMethod], constants: ModuleConstants, options: BackendOptions) -> bytes:
    """Returns a file of the one method. Raises BackendError for several, and for what the format cannot hold."""
    if len(methods) != 1:
        names = ", ".join(method.name for method in methods)
        raise BackendError(f"an ONNX file has one graph, and the program the methods {names}: write a file of each")
    (method,) = methods
    inputs, outputs = [*method.inputs, *method.states], [*method.outputs, *(f"{name}.next" for name in method.written)]
    writer = GraphWriter(constants, method.partition.body.block, inputs, outputs, is_named=True)
    given = dict(zip(method.states, writer.inputs[len(method.inputs) :], strict=True))
    for name in method.states:
        writer.add_default(given[name], constants.first_value(name))
    for name, output in zip(method.written, writer.outputs[len(method.outputs) :], strict=True):
        writer.metadata[f"state {given[name]}"] = output
    return encode(MODEL, writer.model(method.name), BackendError)
