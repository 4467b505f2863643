"""Kernel = row: each row on samples and their variations, against torch, its `numpy`, and its compiled program on each target.

test/README.md says how to walk all variations.
"""

from __future__ import annotations

import dynamic_rows
import pytest
from dynamic_rows import UNDECIDED
from row_exceptions import KNOWN, Known
from row_harness import ROWS, SAMPLES
from row_walk import Walk, cases_of, walk, walk_cases
from shares import drawn

from flambeau.passes.delegation.interface import backend_names
from flambeau.passes.targets.interface import target_names

NAMES = sorted(name for name, row in ROWS.items() if row.level() not in backend_names())
"""The rows that kernels run: those of backends are for their engines."""
SHARE = 0.01
"""Of the variations of a row; the samples of all rows are walked."""
PARTS = 4


def unknown(found: Walk) -> str:
    """What a walk found that is not known."""
    return "\n".join(map(str, found.unknown()))


def test_every_row_has_samples():
    assert sorted(set(ROWS) - set(SAMPLES)) == []


@pytest.mark.parametrize("part", range(PARTS))
def test_torch_and_numpy_and_the_compiled_program_agree(part: int):
    names = drawn(NAMES)[part::PARTS]
    found = walk(names, SHARE)
    assert not found.unknown(), unknown(found)
    assert found.counts["compiled for flambeau"] > len(names) and found.counts["compiled for executorch"] > len(names)


@pytest.mark.parametrize("part", range(PARTS))
def test_rows_compile_for_sizes_that_only_the_run_knows(part: int):
    names = drawn(name for name in NAMES if name not in UNDECIDED)[part::PARTS]
    found = dynamic_rows.walk(names, "outermost", ("executorch", "flambeau")[part % 2 : part % 2 + 1], samples=1)
    assert not found.disagreements, "\n".join(found.disagreements)


def test_bags_of_every_kind_compile_for_sizes_that_only_the_run_knows():
    names = [name for name in NAMES if "embedding_bag" in name]
    found = dynamic_rows.walk(names, "all", ["executorch"])
    assert len(names) == 3 and not found.disagreements, "\n".join(found.disagreements)


@pytest.mark.parametrize(
    "entry", drawn(entry for entry in KNOWN if entry.is_everywhere), ids=lambda entry: f"{entry.kind}, {entry.rows}, {entry.what}"
)
def test_what_is_known_to_disagree_still_does(entry: Known):
    targets = [target for target in target_names() if entry.kind.endswith((target, " *"))]
    for name in filter(entry.is_about, NAMES):
        for case in cases_of(name, 1.0, 0):
            if entry.is_about(name, case.what) and any(
                entry.covers(each.kind, name, case.what) for each in walk_cases([case], targets).disagreements
            ):
                return
    pytest.fail("nothing disagrees any more: take the entry away")
