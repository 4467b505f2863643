"""Rows on complex tensors: torch, the row's `numpy`, and the program of real numbers that it becomes, on each target."""

from __future__ import annotations

import re

import numpy as np
import pytest
from row_harness import ROWS, samples_of
from row_variations import only
from row_walk import Case, walk_cases

from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import arrays_of, with_tensors

OF_REAL = ("complex", "view_as_complex")
"""Operators whose operands are real."""
NAMES = [short for name in sorted(ROWS) if (short := name.removeprefix("aten.")) not in OF_REAL and ROWS[name].has("on_parts")]
OF_REAL_NUMBERS = re.compile(
    r"aten\.(var(_mean)?|std(_mean)?|norm|linalg_norm|linalg_(vector|matrix)_norm|frobenius_norm|pairwise_distance|float_power|logaddexp)\b"
)
"""Rows that are defined for real numbers, of which PyTorch exports no complex one."""


def imaginary(array: Array) -> Array:
    """Complex numbers in the place of real ones."""
    parts = array.astype(np.complex64 if array.dtype != np.float64 else np.complex128)
    return np.asarray(parts + 1j * np.resize(np.roll(parts.real.reshape(-1), 1), array.shape).astype(parts.real.dtype) * 0.75, parts.dtype)


def cases_of(name: str) -> list[Case]:
    """The samples of a row in float32, with its first float tensors, or each of them, as complex numbers."""
    cases: list[Case] = []
    for sample in samples_of(ROWS[f"aten.{name}"]):
        arrays = arrays_of(sample)
        places = [place for place, array in enumerate(arrays) if array.dtype.name in ("float32", "float64") and np.isfinite(array).all()]
        if not places or any(array.dtype != arrays[places[0]].dtype for array in arrays if array.dtype.name in ("float16", "bfloat16")):
            continue

        def all_of(number: int, array: Array, places: list[int] = places) -> Array:
            return imaginary(array) if number in places else array

        cases.append(Case(ROWS[f"aten.{name}"], "complex", with_tensors(sample, all_of)))
        if len(places) > 1:
            cases.append(Case(ROWS[f"aten.{name}"], "first complex", with_tensors(sample, only(places[0], imaginary))))
    return [*cases[:2], *(case for case in cases[2:] if case.what != cases[0].what)][:3]


@pytest.mark.parametrize("part", range(2))
def test_torch_and_numpy_and_the_program_of_real_numbers_agree(part: int):
    found = walk_cases([case for name in NAMES[part::2] for case in cases_of(name)], ["executorch"])
    assert not found.disagreements, "\n".join(map(str, found.disagreements))
    assert found.counts["compiled for executorch"] > 100


def test_torch_and_numpy_and_the_program_agree_on_rows_that_are_made_of_others():
    names = [name.removeprefix("aten.") for name in ROWS if name.startswith("aten.") and name.removeprefix("aten.") not in NAMES]
    found = walk_cases([case for name in names for case in cases_of(name)], ["executorch"])
    assert not [told for told in map(str, found.disagreements) if "differ" in told.partition(":")[0] and not OF_REAL_NUMBERS.search(told)]
    assert found.counts["compiled for executorch"] > len(names) // 3
