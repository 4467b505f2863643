"""The operators and activations of the C runtime's kernels, read from the tables from which the runtime is built."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import resources
from typing import NamedTuple

_KERNEL = re.compile(r'^\s*FL_(SIGNED_)?KERNEL\(\s*"([^"]+)"\s*,\s*(\w+)\s*,\s*(\w+)\s*,\s*"([^"]+)"', re.MULTILINE)
_GROUP = re.compile(r"^\s*FL_GROUP\((\w+)\)", re.MULTILINE)
_ELEMENTWISE = re.compile(r'^FL_ELEMENTWISE(?:_OF)?\("([^"]+)", (\w+), "([^"]+)"', re.MULTILINE)
_ACTIVATION = re.compile(r'^FL_ACTIVATION\(\w+, "(\w+)"', re.MULTILINE)


def _tables() -> Iterator[tuple[str, str]]:
    """Yields the file name and the text of each `.def` table of kernels."""
    folder = resources.files("flambeau.runtime").joinpath("c", "kernels")
    return ((path.name, path.read_text(encoding="utf-8")) for path in folder.iterdir() if path.name.endswith(".def"))


class KernelRow(NamedTuple):
    """A kernel's row of a table.

    Attributes:
        name: name of the operator, such as `aten::add.out`.
        run: name of the C function that computes the operator.
        scratch: name of the C function that returns the scratch memory of a call, or `NULL`.
        access: a letter for each argument, as `fl_kernel.access` in `kernel.h` explains them.
        table: name of the file that has the row.
        is_signed: whether it computes with integers as signed ones of 64 bits, or orders them so.
        group: name of its group.
    """

    name: str
    run: str
    scratch: str
    access: str
    table: str
    is_signed: bool
    group: str


@cache
def kernel_rows() -> dict[str, KernelRow]:
    """Returns every row of `runtime/c/kernels/*.def`, by the name of its operator."""
    rows = ((file, _group(table), row.groups()) for file, table in _tables() for row in _KERNEL.finditer(table))
    return {
        name: KernelRow(name, run, scratch, access, file, bool(signed), group) for file, group, (signed, name, run, scratch, access) in rows
    }


def _group(table: str) -> str:
    found = _GROUP.search(table)
    return "" if found is None else found[1]


class ElementwiseRow(NamedTuple):
    """A function of vectors of floats that computes an operator, as `lanes.h` has it.

    Attributes:
        function: name of the C function.
        arguments: for each argument of the operator without the outs, v, s, p, or = and a constant, as `lanes.h` explains them.
    """

    function: str
    arguments: tuple[str, ...]


@cache
def elementwise_rows() -> dict[str, list[ElementwiseRow]]:
    """Returns the functions of `runtime/c/kernels/lanes.h` by the name of their operator, such as `aten::add.out`."""
    text = resources.files("flambeau.runtime").joinpath("c", "kernels", "lanes.h").read_text(encoding="utf-8")
    found: dict[str, list[ElementwiseRow]] = {}
    for operator, name, arguments in _ELEMENTWISE.findall(text):
        found.setdefault(operator, []).append(ElementwiseRow(f"fl_{name}_lanes", tuple(arguments.split(","))))
    return found


@cache
def kernel_names() -> frozenset[str]:
    """Returns the operator names, such as `aten::add.out`, of every row in `runtime/c/kernels/*.def`."""
    return frozenset(kernel_rows())


@cache
def activation_names() -> tuple[str, ...]:
    """Returns the activations of the fused operators, "none" first: the rows of `runtime/c/kernels/epilogue.def`."""
    return tuple(name for _, table in _tables() for name in _ACTIVATION.findall(table))


def table_source(rows: Iterable[KernelRow]) -> str:
    """Returns a C file that defines `fl_builtin_kernels` with some rows, which are sorted by name."""
    rows = list(rows)
    runs = {f"fl_status {row.run}(fl_context *context, fl_value *const *args, size_t count);" for row in rows}
    scratches = {f"size_t {row.scratch}(fl_value *const *args, size_t count);" for row in rows if row.scratch != "NULL"}
    entries = "".join(f'  {{"{row.name}", {row.run}, {row.scratch}, "{row.access}"}},\n' for row in rows) or "  {0},\n"
    table = f"static const fl_kernel kernels[] = {{\n{entries}}};\nstatic const fl_kernel_table table = {{kernels, {len(rows)}}};\n"
    head = '#include "flambeau/kernel.h"\n'
    return "\n".join([head, *sorted(runs), *sorted(scratches), table, _TABLE])


_TABLE = "const fl_kernel_table *fl_builtin_kernels(void) { return &table; }\n"

NO_OTHERS = """\
#include "core/internal.h"

const fl_backend *const *fl_builtin_backends(size_t *count) {
  if (count != NULL) {
    *count = 0;
  }
  return NULL;
}

const char fl_left_out_kernels[] = "";
"""
"""A C file that says that a library has no backends, and no group of kernels that it could name."""
