"""Backends whose compilers read TFLite models: the same network is a model in the frame of each."""

from __future__ import annotations

import numpy as np
import pytest
from vendor_converter import lowered, payload_of

from flambeau import get_delegation_info
from flambeau.backends.litert.label import LABEL_BYTES
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.passes.delegation.interface import BackendError, backend_names, find_backend
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.interpreter import interpret
from flambeau.tools.commands.engines import about_backends
from flambeau.tools.conformance.drawing.operator_choices import operators_of
from flambeau.tools.conformance.drawing.seeded_graphs import draw_graph

MEMBERS = [name for name in backend_names() if find_backend(name).family == "litert"]


@pytest.mark.parametrize("backend", MEMBERS)
def test_a_payload_is_the_model_in_the_frame_of_its_runtime(backend: str) -> None:
    edge, x = lowered(backend)
    data = payload_of(edge)
    model, _ = lowered("litert")
    assert data.endswith(payload_of(model)[:-LABEL_BYTES])
    expected = interpret(model.module, model.context, run_payload).run("forward", [x.numpy()])
    found = interpret(edge.module, edge.context, run_payload).run("forward", [x.numpy()])
    np.testing.assert_array_equal(np.asarray(found[0]), np.asarray(expected[0]))


@pytest.mark.parametrize("backend", MEMBERS)
def test_what_is_not_one_image_stays(backend: str) -> None:
    edge, _ = lowered(backend, 2)
    assert any("it is of 2 images, and the compiler takes one" in reason for _, reason in get_delegation_info(edge).refused)


@pytest.mark.parametrize("backend", MEMBERS)
def test_a_frame_that_is_cut_off_is_refused(backend: str) -> None:
    data, decode = payload_of(lowered(backend)[0]), find_backend(backend).decode
    assert decode is not None
    for size in (0, 1, 5, 12, 16, 40, len(data) - 1):
        with pytest.raises(BackendError, match="damaged"):
            decode(memoryview(data[:size]), {}, BlobStore())


@pytest.mark.parametrize("backend", MEMBERS)
def test_the_c_runtime_refuses_a_model_that_no_converter_has_compiled(backend: str) -> None:
    edge, _ = lowered(backend)
    with pytest.raises(FlambeauError) as caught:
        Runtime.get().load_program(bytes(edge.to_executorch().buffer)).load_method("forward")
    why, advice = find_backend(backend).options().only_here, about_backends(edge.module, str(caught.value))
    assert why and why in advice and advice.endswith("--engine numpy runs it")


@pytest.mark.parametrize("backend", MEMBERS)
def test_each_operator_is_in_a_drawn_graph_of_its_number(backend: str) -> None:
    table = Partitioner(backend).table
    operators = [operator for operator in operators_of(table)[0] if operator.kind.level() == "edge"]
    for number, operator in enumerate(operators):
        graphs = (draw_graph(table, operators, number + turn * len(operators), size=1) for turn in range(9))
        assert any(graph is not None and operator.name in graph.operators for graph in graphs), operator.name
