"""The signature of an exported program: the meaning of its placeholders and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeGuard, cast

import torch
from torch.export import ExportedProgram
from torch.export.graph_signature import InputKind
from torch.utils import _pytree as pytree
from xdsl.dialects.builtin import StringAttr

from flambeau.dialects.flambeau.method_interface import IN_SPEC, OUT_SPEC, Constant, Leaf
from flambeau.frontends.torch_export.values import array_of, is_fake
from flambeau.support.lazy import Array

STATE_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)
"""The inputs of a graph that its module holds."""


def is_constant(value: Any) -> bool:
    """Returns whether a value may be an input or output without being a tensor."""
    return value is None or (isinstance(value, bool | int | float | str) and not is_large(value))


def is_large(value: Any) -> bool:
    """Returns whether a value is an integer that programs cannot hold."""
    return isinstance(value, int) and not -(2**63) <= value < 2**63


def constant_leaf(name: str, value: Any) -> Leaf:
    """Returns the leaf for a value that the program was specialised to."""
    return Leaf(name, is_tensor=False, value=cast(Constant, value))


def leaf_names(spec: pytree.TreeSpec, stem: str) -> list[str]:
    """Returns the name of each leaf: the keys on its path (`logits`, `states.0`).

    A path of positions alone follows `stem`: `output_0`; a lone leaf is `stem`.
    """
    paths = list(_paths(spec, ()))
    if paths == [()]:
        return [stem]
    names: list[str] = []
    for path in paths:
        keyed = [str(part) for part in path]
        names.append(".".join(keyed) if any(isinstance(part, str) for part in path) else f"{stem}_{'_'.join(keyed)}")
    return names


def example_arrays(program: ExportedProgram) -> dict[str, Array]:
    """Returns the tensors among the example inputs of the export, by input name; none if they do not fit the program."""
    spec = program.call_spec.in_spec
    if program.example_inputs is None or spec is None:
        return {}
    args, kwargs = program.example_inputs
    try:
        # The spec has the order in which the program takes keyword arguments.
        leaves = pytree.tree_leaves((tuple(args), {key: kwargs[key] for key in spec.child(1).context}))
    except KeyError:
        return {}
    inputs = [item for item in program.graph_signature.input_specs if item.kind is InputKind.USER_INPUT]
    if len(inputs) != len(leaves):
        return {}
    named = zip([getattr(item.arg, "name", "") for item in inputs], leaves, strict=True)
    return {name: array_of(value) for name, value in named if isinstance(value, torch.Tensor) and not is_fake(value)}


def _is_sequence(value: object) -> TypeGuard[Sequence[Any]]:
    return isinstance(value, tuple | list)


def _paths(spec: pytree.TreeSpec, path: tuple[str | int, ...]) -> Sequence[tuple[str | int, ...]]:
    if spec.is_leaf():
        return [path]
    children = spec.children()
    keys: Any = spec.context
    # Dictionaries, named tuples and dataclasses keep their keys as the context, alone or first in it.
    if _is_sequence(keys) and len(keys) == 2 and _is_sequence(keys[0]):
        keys = keys[0]
    keys = getattr(keys, "_fields", keys)
    labels = [str(key) for key in keys] if _is_sequence(keys) and len(keys) == len(children) else list(range(len(children)))
    return [found for label, child in zip(labels, children, strict=True) for found in _paths(child, (*path, label))]


@dataclass(frozen=True)
class TreeSpecs:
    """The nesting of inputs and outputs."""

    inputs: pytree.TreeSpec | None
    outputs: pytree.TreeSpec | None

    def attributes(self) -> dict[str, StringAttr]:
        """Returns the serialised specs. If a type is not serialisable, its side is left out, and its leaves stay a flat list."""
        found: dict[str, StringAttr] = {}
        for key, spec in ((IN_SPEC, self.inputs), (OUT_SPEC, self.outputs)):
            if spec is None:
                continue
            try:
                found[key] = StringAttr(pytree.treespec_dumps(spec))
            except (NotImplementedError, TypeError, ValueError):
                continue
        return found
