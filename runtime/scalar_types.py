"""The element types of tensors, read from the table from which the C runtime is built."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from importlib import resources
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

_ROW = re.compile(r"^FL_(\w+)_TYPE\((\w+, \d.*)\)$", re.MULTILINE)
_CATEGORIES = {"BOOL": 0, "INTEGER": 1, "WIDEST_INTEGER": 1, "FLOAT": 2, "HALF": 2, "FLOAT8": 2, "COMPLEX": 3}


@dataclass(frozen=True)
class FloatFormat:
    """The bits of a floating type."""

    exponent: int
    """Number of bits of the exponent."""
    fraction: int
    """Number of bits of the fraction."""
    specials: str
    """The kind of numbers beside the finite ones, as `scalar_types.def` calls it."""

    @property
    def largest(self) -> float:
        """The largest finite number."""
        power = 2 ** (self.exponent - 1) - (self.specials != "FN")
        return math.ldexp(2 - 2.0 ** (self.specials == "FN") * 2.0**-self.fraction, power)


@dataclass(frozen=True)
class ScalarTypeRow:
    """A line of `runtime/c/include/flambeau/scalar_types.def`."""

    name: str
    """Name in PyTorch, and in numpy or ml_dtypes."""
    mlir: str
    """Name in IR."""
    safetensors: str
    """Name in the headers of safetensors files."""
    number: int
    """Number in PyTorch and in the .pte format (schema/scalar_type.fbs)."""
    size: int
    """Bytes of one element."""
    c_type: str
    """The type of C in memory; a complex number is two of them."""
    category: int
    """0 bool, 1 integer, 2 floating, 3 complex: the order of type promotion."""
    computes: bool
    """Whether arithmetic takes the type. Programs only store, move and convert float8."""
    by: int | None
    """For an integer type: the bits of the integer through which a real number is converted to the type."""
    format: FloatFormat | None
    """For a floating type: its bits."""


def _row(group: str, columns: list[str]) -> ScalarTypeRow:
    _, number, size, c_type, mlir, name, safetensors, *more = columns
    category = _CATEGORIES[group]
    by = int(more[0].removeprefix("i")) if category == 1 else None
    format = FloatFormat(int(more[0]), int(more[1]), more[2] if len(more) > 2 else "IEEE") if category == 2 else None
    return ScalarTypeRow(name, mlir, safetensors, int(number), int(size), c_type, category, group != "FLOAT8", by, format)


_TABLE = resources.files("flambeau.runtime").joinpath("c", "include", "flambeau", "scalar_types.def").read_text(encoding="utf-8")
SCALAR_TYPES = tuple(_row(row[1], row[2].split(", ")) for row in _ROW.finditer(_TABLE))
"""Every element type, in the order of the table."""
BY_NUMBER = {row.number: row for row in SCALAR_TYPES}
"""The rows by their numbers."""
BY_NAME = {row.name: row for row in SCALAR_TYPES}
"""The rows by their names."""


def numpy_dtype(name: str) -> np.dtype[Any]:
    """Returns the numpy dtype of an element type's name. Raises ModuleNotFoundError for a type of ml_dtypes if that package is missing."""
    import numpy as np

    if name in np.sctypeDict:
        return np.dtype(name)
    import ml_dtypes

    return np.dtype(getattr(ml_dtypes, name))
