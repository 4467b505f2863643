"""Legality against reality: what the table takes of the samples of its operators is computed by numpy, and coremltools reads it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from coremltools_judge import PYTHONS, read, unpacked, written
from delegated_operators import Trial, program_of, trials_of

from flambeau.backends.coreml import TARGETS, CoreMlOptions
from flambeau.backends.coreml.legality import OPERATORS, table
from flambeau.backends.coreml.lower import CONVERTERS
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.passes.manager import Pipeline


@cache
def trials(name: str) -> list[Trial]:
    """The samples of an operator that are numbers."""
    return trials_of(name, table(CoreMlOptions(target=TARGETS[-1]))).finite()


def test_there_is_a_converter_for_each_operator_of_the_table():
    assert OPERATORS.keys() == CONVERTERS.keys()


ALONE = sorted(name for name in OPERATORS if not name.startswith("quantized_decomposed."))
"""The operators that are taken without what reads them."""


@pytest.mark.parametrize("name", ALONE)
def test_numpy_is_right_about_what_is_taken(name: str):
    for trial in trials(name):
        program_of(
            Trial(trial.module.clone(), trial.context, trial.inputs, trial.expected), f"coreml{{precision=f32 target={TARGETS[-1]}}}"
        )


def payload(trial: Trial, options: str) -> bytes:
    """The payload of a trial."""
    module = trial.module.clone()
    Pipeline.parse(f"partition{{backends=coreml{{{options}}}}},convert-partitions,cse,lower-partitions").run(module, trial.context)
    (found,) = (op for op in module.walk() if isinstance(op, PayloadOp))
    return bytes(trial.context.blobs.get(found.data))


@pytest.fixture(params=PYTHONS, ids=lambda _: "coremltools")
def check_reading(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[list[bytes]], None]:
    """Checks that coremltools reads payloads as they were written."""

    def check(payloads: list[bytes]) -> None:
        packages = [unpacked(data, tmp_path / str(number)) for number, data in enumerate(payloads)]
        assert read(request.param, packages) == [written(package) for package in packages]

    return check


@pytest.mark.parametrize(("target", "precision"), zip(TARGETS, ("f16", "f32") * 2, strict=True))
def test_coremltools_reads_what_is_taken(precision: str, target: str, check_reading: Callable[[list[bytes]], None]):
    first = TARGETS.index(target)
    found = [trials(name) for name in ALONE if name in table(CoreMlOptions(target=target)).rules]
    chosen = [some[place] for some in found for place in sorted({first % len(some), (first + 4) % len(some)})]
    check_reading([payload(trial, f"precision={precision} target={target}") for trial in chosen])
