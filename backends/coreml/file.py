"""Writes a whole program as a `.mlpackage` folder, whose states are the program's mutable globals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flambeau.backends.coreml import CoreMlOptions
from flambeau.backends.coreml.encode import ProgramWriter, identifiers
from flambeau.backends.coreml.package import package_files
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.passes.delegation.interface import BackendError, WholeMethod
from flambeau.passes.rewriting.constants import ModuleConstants


def encode_package(methods: Sequence[WholeMethod], constants: ModuleConstants, options: CoreMlOptions) -> Mapping[str, bytes]:
    """Returns the files of a package. Raises BackendError for several methods, and for a state that does not begin with zeros."""
    if len(methods) != 1:
        names = ", ".join(method.name for method in methods)
        raise BackendError(f"coreml: a package is of one method, and the program has {names}: export one of them")
    (method,) = methods
    block = method.partition.body.block
    for name in method.states:
        first = constants.first_value(name)
        if first is None or first.any():
            raise BackendError(f"coreml: the state {name!r} does not begin with zeros, as those of Core ML do")
    if flat := next((name for name, value in zip(method.inputs, block.args, strict=False) if not shape_of(value)), None):
        raise BackendError(f"coreml: the input {flat!r} has no dimension, and those of Core ML have one")
    names = identifiers([*method.inputs, *method.outputs, *method.states])
    inputs, outputs = names[: len(method.inputs)], names[len(method.inputs) :][: len(method.outputs)]
    states = names[len(names) - len(method.states) :]
    written = [states[list(method.states).index(name)] for name in method.written]
    return package_files(*ProgramWriter(constants, options.set_of_operators).write(block, inputs, outputs, states, written))
