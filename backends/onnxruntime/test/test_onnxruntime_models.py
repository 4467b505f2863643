"""Models compiled for ONNX Runtime: right in every engine, and as a whole."""

from __future__ import annotations

from pathlib import Path

import pytest
from device_models import CASES, HALF_CASES, Journey, arrays, start_journey
from shares import drawn

from flambeau.runtime import Runtime

NO_OPERATOR = "the backend has no such operator"
NUMBER = "a number in it is known when it runs only"
LEFT: dict[str, set[tuple[str, str]]] = {
    "llama of any length": {
        ("edge.arange.start_step", NO_OPERATOR),
        ("edge.index.Tensor", "the sizes of its several tensors of indices are known when it runs only"),
        ("edge.slice_copy.Tensor", NUMBER),
    },
}
"""The operators that stay of a model, with the reasons."""


pytestmark = pytest.mark.usefixtures("onnxruntime_library")


@pytest.fixture(scope="module", params=drawn(sorted(CASES | HALF_CASES), parts=3))
def journey(request: pytest.FixtureRequest) -> Journey:
    """One at a time: each goes before the next one comes."""
    return start_journey(request.param, "onnxruntime")


def test_numpy_runs_what_is_converted_and_what_is_decoded(journey: Journey) -> None:
    journey.check_by_numpy()


def test_the_library_runs_it_through_the_c_runtime(journey: Journey, onnxruntime_library: Path) -> None:
    options = {"onnxruntime": {"library": str(onnxruntime_library)}}
    method = Runtime.get().load_program(journey.program, backend_options=options).load_method("forward")
    journey.check(lambda call: method.execute(arrays(call)))
    assert set(method.metadata.backend_names) == {"OnnxRuntimeBackend"}


def test_what_stays_has_a_reason(journey: Journey) -> None:
    assert set(journey.edge.survey("onnxruntime").refused) == LEFT.get(journey.name, set())
