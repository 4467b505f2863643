"""The epilogue of the fused matrix operators: an addend and an activation."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import cast

from flambeau.dialects.schema.operators import find_op
from flambeau.runtime.manifest import activation_names
from flambeau.support.lazy import Array, np


def check_activation(name: str) -> None:
    """Raises ValueError for an unknown activation."""
    if name not in activation_names():
        raise ValueError(f"activation must be one of {', '.join(activation_names())}, got {name!r}")


@cache
def _meaning(name: str) -> Callable[..., Array]:
    found = find_op(f"aten.{name}")
    assert found is not None
    return found.numpy


def apply_epilogue(x: Array, addend: Array | None, activation: str) -> Array:
    """activation(x + addend)."""
    total = x if addend is None else x + addend
    match activation:
        case "none":
            return total
        case "relu6":
            return cast(Array, np.clip(total, 0, 6).astype(total.dtype))
        case "gelu":
            return _meaning("gelu")(total, "none")
        case "gelu_tanh":
            return _meaning("gelu")(total, "tanh")
        case _:
            return _meaning(activation)(total)
