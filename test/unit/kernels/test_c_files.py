"""The files of the C runtime: which may use which; a kernel stands in the family of its row, and does with arguments what the row says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

from flambeau.dialects.aten.aliases import ALIASES
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.schema.operators import find_schema, level_ops
from flambeau.dialects.schema.out_variants import out_variant
from flambeau.dialects.schema.row_table import load_rows
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.runtime.manifest import kernel_names

C = Path(__file__).parents[3] / "runtime" / "c"
DEFINITION = re.compile(r"^(?!static\b|typedef\b)[a-z][\w ]*[ *](fl_\w+)\([^;{}]*\) \{", re.MULTILINE)


@pytest.mark.parametrize("folder", ["core", "kernels"])
def test_files_use_each_other_in_one_direction(folder: str):
    texts = {path.stem: re.sub(r'/\*.*?\*/|"[^"\n]*"', "", path.read_text(), flags=re.DOTALL) for path in (C / folder).rglob("*.c")}
    defined = {name: file for file, text in texts.items() for name in DEFINITION.findall(text)}
    assert len(defined) > len(texts)
    uses = {file: {defined[name] for name in set(re.findall(r"\bfl_\w+", text)) & set(defined)} - {file} for file, text in texts.items()}
    for path in [*(C / folder).rglob("*.c"), *(C / folder).rglob("*.h")]:  # x.h says what x.c has
        uses.setdefault(path.stem, set()).update(
            set(re.findall(r'^#include "(?:\w+/)?(\w+)\.h"', path.read_text(), re.MULTILINE)) - {path.stem}
        )
    TopologicalSorter(uses).prepare()  # raises CycleError, which names the files


@cache
def families() -> dict[str, set[str]]:
    """Kernel name, with and without its overload -> the files of the rows that it implements."""
    named = {schema.partition("(")[0]: target for schema, target in ALIASES}
    rows = load_rows()["aten"]
    found: dict[str, set[str]] = {}
    for row in [row for rows in load_rows().values() for row in rows.values()] + list(level_ops("edge")):
        # An alias belongs to the family of the operator that it names.
        file = rows.get(named.get(row.schema.name, ""), row).__module__.rpartition(".")[2]
        variant = out_variant(row.schema)
        names = [f"{row.schema.namespace}::{row.schema.base}"] + ([] if variant is None else [f"{variant.namespace}::{variant.name}"])
        for name in names:
            found.setdefault(name, set()).add(file)
    return found


def files_of(kernel: str) -> set[str]:
    """The files in which a kernel's row may stand: its own, else one of the operators of its name; none where there is none."""
    base = kernel.partition(".")[0]
    return next(
        (families()[name] for name in (kernel, base, base.removesuffix("_copy"), base.rstrip("_")) if name in families()), set[str]()
    )


def test_a_kernel_stands_in_the_family_of_its_row():
    misplaced = {
        name: (path.name, files_of(name))
        for path in (C / "kernels").glob("*.def")
        for name in re.findall(r'"([^"]+)"', path.read_text())
        if name in kernel_names() and files_of(name) and path.stem not in files_of(name)
    }
    assert not misplaced


LETTERS = {
    "Tensor": "t",
    "Tensor[]": "k",
    "Tensor?[]": "o",
    "bool": "n",
    "bool[]": "b",
    "float": "n",
    "float[]": "d",
    "int": "n",
    "int[]": "l",
    "MemoryFormat": "n",
    "Scalar": "n",
    "ScalarType": "n",
    "str": "c",
}
"""What a type of a schema is to a kernel that reads it; a capital letter takes None too."""


def letter_of(argument: SchemaArgument, is_over: bool) -> str:
    kind = argument.type
    if kind.mutated:
        return "w"
    letter = "i" if is_over else LETTERS[kind.base + "?" * kind.element_optional + "[]" * kind.is_list]
    return letter.upper() if kind.optional else letter


def kernel_rows() -> Iterator[tuple[str, str]]:
    """Each kernel's name with its letters."""
    for path in (C / "kernels").glob("*.def"):
        yield from re.findall(r'KERNEL\("([^"]+)", \w+, \w+, "([^"]+)"\)', path.read_text())


def test_a_kernel_says_of_its_arguments_what_its_row_says():
    wrong: dict[str, tuple[str, str]] = {}
    for name, access in kernel_rows():
        kernel = row_kernels().get(name)
        namespace, _, rest = name.partition("::")
        schema = kernel.out if kernel else find_schema(rest) if namespace == "aten" else None
        if schema is None:
            continue
        over = kernel.positions(kernel.row.inplace) if kernel else [place for place, letter in enumerate(access) if letter in "iI"]
        inputs = [argument for argument in schema.arguments if argument not in schema.outs]
        letters = "".join(letter_of(argument, place in over) for place, argument in enumerate(inputs))
        letters += "w" * (len(schema.outs) + 1) if schema.mutates else "s"
        if access != letters:
            wrong[name] = (access, letters)
    assert not wrong


def test_every_kernel_says_what_each_argument_is():
    """The letter r, for a value of any kind, is for kernels of others."""
    assert not {name: access for name, access in kernel_rows() if "r" in access}
