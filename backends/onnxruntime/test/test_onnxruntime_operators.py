"""Legality against reality: what the table takes is converted and right; and ONNX Runtime computes of each row what numpy does."""

from __future__ import annotations

from pathlib import Path

import pytest
from delegated_operators import assert_close, program_of, trials_of
from onnx_operators import SAMPLES, models
from shares import drawn
from vendor_tools import installed

from flambeau.backends.onnxruntime.legality import IN_FILES, OPERATORS, table
from flambeau.backends.onnxruntime.lower import CONVERTERS
from flambeau.passes.delegation.interface import BackendOptions
from flambeau.runtime import Runtime

READERS = {"quantized_decomposed.dequantize_per_channel_group": "_softmax"}


def test_there_is_a_converter_for_each_operator_of_the_table() -> None:
    assert OPERATORS.keys() | IN_FILES.keys() == CONVERTERS.keys()


@pytest.mark.parametrize("name", drawn(sorted(OPERATORS), parts=3))
def test_the_library_is_right_about_what_is_taken(name: str, onnxruntime_library: Path) -> None:
    options = {"onnxruntime": {"library": str(onnxruntime_library)}}
    for trial in trials_of(name, table(BackendOptions()), {}, READERS).finite():
        method = Runtime.get().load_program(program_of(trial, "onnxruntime"), backend_options=options).load_method("forward")
        assert_close(method.execute(trial.inputs), trial.expected)


@pytest.mark.parametrize("python", installed("onnxruntime-test"))
def test_onnx_checks_and_onnx_runtime_computes_each_sample(python: str) -> None:
    compared, different = models(python).differences(range(1), SAMPLES)
    assert not different
    assert set(compared) == set(SAMPLES)
