"""The manifest of the C runtime: the operators and activations of its kernels, read from the tables that the build itself reads."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import resources

_KERNEL = re.compile(r'^\s*FL_KERNEL\(\s*"([^"]+)"', re.MULTILINE)
_ACTIVATION = re.compile(r'^FL_ACTIVATION\(\w+, "(\w+)"', re.MULTILINE)


def _tables() -> Iterator[str]:
    folder = resources.files("flambeau.runtime").joinpath("c", "kernels")
    return (path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name.endswith(".def"))


@cache
def kernel_names() -> frozenset[str]:
    """Qualified operator names, such as `aten::add.out`, of every row in `runtime/c/kernels/*.def`."""
    return frozenset(name for table in _tables() for name in _KERNEL.findall(table))


@cache
def activation_names() -> tuple[str, ...]:
    """The activations of the fused operators, "none" first: the rows of `runtime/c/kernels/epilogue.def`."""
    return tuple(name for table in _tables() for name in _ACTIVATION.findall(table))
