"""What a program computes at some sizes does not depend on the sizes before, on this runtime and on stock ExecuTorch."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import size_pairs
import torch
from dynamic_programs import dynamic_program, programs
from executorch.backends.xnnpack.serialization import xnnpack_graph_schema as xnn
from payload_graphs import FP16, Graph
from shares import drawn

from flambeau.compiler.edge_program import to_edge
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.pte import TensorShapeDynamism, read_program
from flambeau.support.lazy import Array

TOLERANCE = {"float32": 1e-4, "float16": 2e-2, "int8": 5e-2}
"""The largest difference from PyTorch, in units of the largest value; some integers of each layer may differ by one."""


_MEANS = [program for program in programs() if program[0].startswith("means")]
PROGRAMS = _MEANS + drawn((program for program in programs() if program not in _MEANS), parts=3)
"""The means, whose memory grows with the sizes, are always among them."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs, each in a folder, with what PyTorch makes of each size in `expected.npz`."""
    root = tmp_path_factory.mktemp("pairs")
    for name, kind in PROGRAMS:
        case = dynamic_program(name, kind)
        program = bytes(to_edge(case.exported).to_backend("xnnpack").to_executorch().buffer)
        assert read_program(program).execution_plan[0].delegates
        place = root / f"{name}, {kind}"
        size_pairs.write(place, program, [[x.numpy() for x in call] for call in case.calls])
        expected: dict[str, Array] = {}
        for size, call in enumerate(case.calls):
            with torch.no_grad():
                results: Any = case.module(*call)
            values: list[torch.Tensor] = [results] if isinstance(results, torch.Tensor) else [*results]
            for index, value in enumerate(values):
                expected[f"{size}/{index}"] = value.float().numpy()
        size_pairs.save(place / "expected.npz", expected)
    return root


@pytest.fixture(scope="module")
def said(folder: Path) -> Callable[[str], str]:
    """Runs all programs on an engine, once; what its process said."""

    @cache
    def run(engine: str) -> str:
        return size_pairs.run(engine, sorted(folder.iterdir()))

    return run


@pytest.mark.parametrize("engine", size_pairs.ENGINES)
@pytest.mark.parametrize(("name", "kind"), PROGRAMS)
def test_sizes_do_not_depend_on_those_before(folder: Path, said: Callable[[str], str], name: str, kind: str, engine: str):
    text, place = said(engine), folder / f"{name}, {kind}"
    assert (place / f"after.{engine}.npz").exists(), text
    expected, alone, after = (dict(np.load(place / f"{what}.npz")) for what in ("expected", f"alone.{engine}", f"after.{engine}"))
    assert alone.keys() == expected.keys()
    for key, value in alone.items():
        assert np.abs(value.astype("float32") - expected[key]).max() <= TOLERANCE[kind] * np.abs(expected[key]).max(), key
    sizes = len({key.split("/")[0] for key in alone})
    assert len(after) * sizes == len(alone) * sizes * (sizes - 1) >= 6
    for key, value in after.items():
        np.testing.assert_array_equal(value, alone[key.partition("/")[2]], err_msg=key)


def mean_of_halves() -> bytes:
    """A mean over height and width of one image or two in float16, as no compiler of ours writes it.

    XNNPACK sums in a workspace, which it plans for the first call. Behind it is a value of as many bytes as the second image needs more, so
    that XNNPACK writes nothing beyond its memory, whatever it plans.
    """
    graph = Graph((2, 4, 4, 24), (1, 24), datatype=FP16)
    result, scale, mean = graph.output((2, 24)), graph.value((1, 24)), graph.value((2, 24))
    graph.node(xnn.XNNAbs(1, scale, 0))
    graph.node(xnn.XNNGlobalAvgPooling2d(0, mean, 0))
    graph.node(xnn.XNNMultiply(mean, scale, result, 0))
    return graph.program(before=(), shape_dynamism=TensorShapeDynamism.DYNAMIC_BOUND)


def errors_of_means(engine: str) -> list[float]:
    """The largest errors of the mean of one image, and then of two."""
    run, generator = size_pairs.ENGINES[engine](mean_of_halves()), np.random.default_rng(0)
    scale = generator.standard_normal((1, 24)).astype("float16")
    errors: list[float] = []
    for images in (1, 2):
        x = generator.standard_normal((images, 4, 4, 24)).astype("float16")
        expected = x.astype("float32").mean((1, 2)) * np.abs(scale.astype("float32"))
        errors.append(float(np.abs(np.array(run([x, scale])[0]) - expected).max()))
    return errors


def test_memory_is_planned_for_the_largest_sizes():
    assert all(error < 1e-3 for error in errors_of_means("flambeau"))  # not of NaN either


def test_xnnpack_does_not_enlarge_the_workspace_of_a_mean_yet():
    """Once this fails, XNNPACK is mended: `has_dynamic_means` and what asks it can go, if no older version needs to be supported."""
    first, second = errors_of_means("executorch")
    assert first < 1e-3 and not second < 1e-3


def test_sizes_beyond_those_of_the_payload_are_refused():
    payload = Graph((2, 3))
    payload.node(xnn.XNNAbs(0, payload.output((2, 3)), 0))
    program = Graph((4, 3))
    program.output((4, 3))
    data = program.program(payload.payload(), shape_dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
    method = Runtime.get().load_program(data).load_method("forward")
    method.execute([np.zeros((2, 3), "float32")])
    with pytest.raises(FlambeauError, match=r"argument 0 has 4 in dimension 0, and its payload is for 2 at most"):
        method.execute([np.zeros((4, 3), "float32")])
