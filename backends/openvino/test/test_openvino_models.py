"""Models compiled for OpenVINO: right in every engine, and as a whole."""

from __future__ import annotations

import pytest
from device_models import CASES, Journey, arrays, start_journey
from shares import drawn

from flambeau.passes.delegation.partition import PartitionPass
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.runtime import Runtime

NO_LAYER = "the backend has no such operator"
INTEGER = "a tensor is of i64, and its kernel takes f32"
LOOKUP = ("edge.embedding", NO_LAYER)
MASKS = ("_to_copy", "index.Tensor", "bitwise_and.Tensor", "any.dim", "logical_not", "logical_or")
COMPUTED_MASKS = (*MASKS, "arange.start_step", "ne.Scalar", "cumsum", "eq.Tensor", "le.Tensor")
INDICES = ("view_copy", "slice_copy.Tensor", "add.Scalar", "sub.Scalar", "sub.Tensor", "cat")

LEFT: dict[str, set[tuple[str, str]]] = {
    "gpt2": {LOOKUP},
    "llama": {LOOKUP},
    "lstm_classifier": {LOOKUP},
    "minilm": {LOOKUP, ("edge.view_copy", INTEGER), *((f"edge.{name}", NO_LAYER) for name in MASKS)},
    "llama of any length": {
        LOOKUP,
        *((f"edge.{name}", INTEGER) for name in INDICES),
        *((f"edge.{name}", NO_LAYER) for name in COMPUTED_MASKS),
    },
}
"""The operators that stay of a model, with the reasons."""


@pytest.fixture(scope="module", params=drawn(sorted(CASES), parts=3))
def journey(request: pytest.FixtureRequest) -> Journey:
    """One at a time: each goes before the next one comes."""
    return start_journey(request.param, "openvino")


def test_numpy_runs_what_is_converted_and_what_is_decoded(journey: Journey):
    journey.check_by_numpy()


@pytest.mark.usefixtures("openvino_library")
def test_the_library_runs_it_through_the_c_runtime(journey: Journey):
    method = Runtime.get().load_program(journey.program).load_method("forward")
    journey.check(lambda call: method.execute(arrays(call)))
    assert method.metadata.backend_names == ("OpenvinoBackend",)


def test_nearly_all_of_its_work_is_delegated(journey: Journey):
    partition, module = PartitionPass((Partitioner(journey.backend),)), journey.edge.module.clone()
    partition.apply(journey.edge.context, module)
    rows = partition.report(module, journey.edge.context).rows
    assert sum(row.flops for row in rows if row.backend == journey.backend) >= 0.95 * sum(row.flops for row in rows)


def test_what_stays_has_a_reason(journey: Journey):
    assert set(journey.edge.survey("openvino").refused) == LEFT.get(journey.name, set())
