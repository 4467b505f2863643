"""The epilogue of the fused matrix operators: an addend and an activation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from flambeau.dialects.schema.operators import level_ops
from flambeau.runtime.manifest import activation_names
from flambeau.support.lazy import Array


def check_activation(name: str) -> None:
    """Raises ValueError for an unknown activation."""
    if name not in activation_names():
        raise ValueError(f"activation must be one of {', '.join(activation_names())}, got {name!r}")


@cache
def _meaning(activation: str) -> Callable[[Array], Array]:
    row, rest = next((row, rest) for row in level_ops("edge") for name, *rest in row.activations if name == activation)
    return lambda x: row.call("numpy", [x, *rest])


def apply_epilogue(x: Array, addend: Array | None, activation: str) -> Array:
    """Returns activation(x + addend)."""
    total = x if addend is None else x + addend
    return total if activation == "none" else _meaning(activation)(total)
