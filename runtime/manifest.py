"""The manifest of the C runtime: the operators that its kernels implement, read from the tables that the build itself reads."""

from __future__ import annotations

import re
from functools import cache
from importlib import resources

_ROW = re.compile(r'^\s*FL_KERNEL\(\s*"([^"]+)"', re.MULTILINE)


@cache
def kernel_names() -> frozenset[str]:
    """Qualified operator names, such as `aten::add.out`, of every row in `runtime/c/kernels/*.def`."""
    folder = resources.files("flambeau.runtime").joinpath("c", "kernels")
    tables = [path.read_text(encoding="utf-8") for path in folder.iterdir() if path.name.endswith(".def")]
    return frozenset(name for table in tables for name in _ROW.findall(table))
