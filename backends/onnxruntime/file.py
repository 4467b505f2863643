"""Writes a whole program as an ONNX file, with the names of the model."""

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
    writer = GraphWriter(constants, method.partition.body.block, method.inputs, method.outputs, is_named=True)
    return encode(MODEL, writer.model(method.name), BackendError)
