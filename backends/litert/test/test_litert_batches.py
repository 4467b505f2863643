"""Batches whose size the run decides: each operator of the table, quantized layers, files, and what stays static."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from delegated_operators import Trial, of_batch, open_operation, trials_of
from device_models import SMALL
from litert_files import PLAN, decoded_results, file_of
from litert_judge import litert
from payload_judges import Comparison, agree
from shares import drawn
from tflm_judge import tflm
from torch import Tensor, nn
from torch_programs import seed
from vendor_tools import installed
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block

from flambeau import EdgeProgramManager, get_delegation_info, quantize, to_edge, to_edge_transform_and_lower
from flambeau.backends.litert import KERNELS, LiteRtOptions
from flambeau.backends.litert.label import labelled, unlabelled
from flambeau.backends.litert.legality import table
from flambeau.backends.litert.payload import read_model
from flambeau.dialects.delegate.ops import PayloadOp
from flambeau.dialects.ir.tensor_types import is_static
from flambeau.passes.delegation.interface import BackendError, backend_names, find_backend
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import Pipeline
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array

FLOATS = table(LiteRtOptions(precision="float32"))
MEMBERS = [name for name in backend_names() if find_backend(name).family == "litert"]
_MOST = 4
"""The trials of an operator."""


def trials(name: str) -> list[Trial]:
    """The samples of an operator, as programs of any batch."""
    fixed = ("weight",) if name == "embedding" else FLOATS.rules[name].constants
    found = trials_of(name, FLOATS, of_sample=partial(open_operation, fixed=fixed))
    return [trial for trial in found.taken if trial.is_finite and not is_static(*block_of(trial).args)][:_MOST]


def block_of(trial: Trial) -> Block:
    return next(op for op in trial.module.walk() if isinstance(op, FuncOp)).body.block


def lower(trial: Trial) -> None:
    pipeline = "partition{backends=litert{precision=float32}},convert-partitions,cse,lower-partitions"
    Pipeline.parse(pipeline).run(trial.module, trial.context)
    assert sum(isinstance(op, PayloadOp) for op in trial.module.walk()) == 1


def check(name: str, comparison: Comparison | None = None) -> None:
    """Fails unless an operator is right with one entry, and with others than its sample has."""
    found = trials(name)
    assert found
    for trial in found:
        block = block_of(trial)
        size = next(len(array) for array, value in zip(trial.inputs, block.args, strict=True) if not is_static(value))
        calls = [of_batch(trial.inputs, block, count) for count in (size + 1, 1)]
        expected = [interpret(trial.module, trial.context).run("forward", call) for call in calls]
        lower(trial)
        for call, wanted in zip(calls, expected, strict=True):
            results = interpret(trial.module, trial.context, comparison or run_payload).run("forward", call)
            for a, b in zip(results, wanted, strict=True):
                np.testing.assert_allclose(np.asarray(a), np.asarray(b), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", drawn(sorted(FLOATS.rules)))
def test_each_operator_takes_batches_of_any_size(name: str) -> None:
    check(name)


@pytest.mark.parametrize("python", installed("litert-test"))
@pytest.mark.parametrize("name", drawn(sorted(FLOATS.rules)))
def test_litert_takes_batches_of_any_size(name: str, python: str) -> None:
    comparison = Comparison(litert(python))
    check(name, comparison)
    assert comparison.compared.total() and not comparison.different


class Network(nn.Module):
    """Layers of images, a part of their channels, a residual sum, and classes of each image."""

    def __init__(self):
        super().__init__()
        self.stem, self.each, self.classes = nn.Conv2d(3, 8, 3, 2, 1), nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.Linear(96, 5)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Of images [batch, 3, 8, 8]: classes [batch, 5], and rows of pixels [batch * 16, 6]."""
        x = torch.relu(self.stem(x))
        y = (x + torch.relu(self.each(x)))[:, 1:7]
        return self.classes(y.flatten(1)), y.permute(0, 2, 3, 1).reshape(-1, 6)


X = torch.linspace(-1, 1, 5 * 192).reshape(5, 3, 8, 8)


def network() -> nn.Module:
    seed()
    return Network().eval()


def exported(module: nn.Module, *inputs: Tensor, least: int = 1, most: int = 6) -> torch.export.ExportedProgram:
    batch = torch.export.Dim("batch", min=least, max=most)
    return torch.export.export(module, inputs, dynamic_shapes=tuple({0: batch} for _ in inputs))


def quantized() -> torch.export.ExportedProgram:
    return quantize(exported(network(), X), [(X,)], "int8", "litert").program


def program(edge: EdgeProgramManager) -> bytes:
    return bytes(edge.to_executorch().buffer)


def load(data: bytes, library: Path, **options: object) -> Any:
    given = {"litert": {"library": str(library), **options}}
    return Runtime.get().load_program(data, backend_options=given).load_method("forward")


def call(method: Any, x: Tensor) -> list[Array]:
    return [np.asarray(item).copy() for item in method.execute([x.numpy()])]


@pytest.mark.parametrize("kernels", KERNELS)
def test_the_runtime_takes_one_batch_after_the_other(kernels: str, litert_library: Path) -> None:
    """Also where they lie at no multiple of LiteRT's alignment, or are larger than those before."""
    data = program(to_edge_transform_and_lower(exported(network(), X), partitioner=["litert{precision=float32}"]))
    assert data.count(b"LiteRtBackend") == 1
    method, module, memory = load(data, litert_library, kernels=kernels), network(), torch.zeros(2 * X.numel())
    for size, place in ((3, 0), (1, 0), (5, 1), (5, 1), (2, 3), (4, 16)):
        x = memory[place : place + size * 192].reshape(size, 3, 8, 8).copy_(X[:size] * size)
        for found, expected in zip(call(method, x), module(x), strict=True):
            np.testing.assert_allclose(found, expected.detach().numpy(), rtol=1e-5, atol=1e-5)


def test_batches_of_integers_are_those_of_numpy(litert_library: Path) -> None:
    edge = to_edge_transform_and_lower(quantized(), partitioner=["litert{kernels=reference}"])
    method = load(program(edge), litert_library)
    assert sum(isinstance(op, PayloadOp) for op in edge.module.body.block.ops) == 1
    for size in (2, 5, 1):
        expected = interpret(edge.module, edge.context, run_payload).run("forward", [X[:size].numpy()])
        for found, exact in zip(call(method, X[:size]), expected, strict=True):
            np.testing.assert_array_equal(found, np.asarray(exact))


def test_batches_beyond_those_of_the_payload_are_refused(litert_library: Path) -> None:
    """Whatever those of the program are; a batch that fits is right after one that does not."""
    edge = to_edge_transform_and_lower(exported(network(), X), partitioner=["litert{precision=float32}"])
    data, (payload,) = program(edge), [edge.context.blobs.get(op.data) for op in edge.module.body.block.ops if isinstance(op, PayloadOp)]
    model, ranges = unlabelled(payload, "the payload")
    assert list(ranges) == [(1, 6)]

    def with_ranges(least: int, most: int) -> bytes:
        return data.replace(bytes(payload), labelled(bytes(model), 1, 2, [(least, most)]))

    method = load(with_ranges(2, 4), litert_library)
    for size in (5, 1):
        with pytest.raises(FlambeauError, match=f"argument 0 has {size} entries, and its payload takes 2 to 4; "):
            call(method, X[:size])
        np.testing.assert_allclose(call(method, X[:3])[0], network()(X[:3])[0].detach().numpy(), rtol=1e-5, atol=1e-5)
    for least, most in ((0, 4), (3, 2), (1, 2**31)):
        with pytest.raises(FlambeauError, match=f"refuses it: its payload is damaged: argument 0 has {least} to {most} entries$"):
            load(with_ranges(least, most), litert_library)
        if most < 2**31:
            with pytest.raises(BackendError, match="is damaged: the sizes of its inputs are not in order"):
                unlabelled(memoryview(labelled(bytes(model), 1, 2, [(least, most)])), "the payload")


@pytest.mark.parametrize("python", installed("litert-test"))
@pytest.mark.parametrize("kernels", ["reference", "default"])
def test_litert_runs_a_file_with_batches(kernels: str, python: str) -> None:
    """DS-CNN, in floats and in integers. Sizes that only the run knows have no memory plan."""
    seed()
    module, (x,) = SMALL["ds_cnn"]()
    x, judge = torch.cat([x, x * 0.5, -x]), litert(python, kernels)
    floats = exported(module.eval(), x, most=8)
    for edge in (to_edge(floats), to_edge(quantize(floats, [(x,)], "int8", "litert").program)):
        data = file_of(edge)
        assert PLAN not in data
        (graph,) = read_model(memoryview(data), "the file").subgraphs
        assert [list(graph.tensors[number].shape_signature)[:1] for number in (*graph.inputs, *graph.outputs)] == [[-1], [-1]]
        for size in (1, 3):
            (expected,), (found,) = decoded_results(data, [x[:size].numpy()]), judge.run(data, [x[:size].numpy()])
            assert len(found) == size and (agree(expected, found) if kernels == "reference" else np.abs(expected - found).max() < 0.02)


@pytest.mark.parametrize("python", installed("litert-test"))
def test_tflm_runs_a_file_with_batches_for_the_least_one(python: str) -> None:
    data = file_of(to_edge(quantized()))
    for expected, found in zip(decoded_results(data, [X[:1].numpy()]), tflm(python, 2).run(data, [X[:1].numpy()]), strict=True):
        assert agree(expected, found)


def refusals(edge: EdgeProgramManager) -> set[str]:
    return {reason for _, reason in get_delegation_info(edge).refused}


@pytest.mark.parametrize("backend", MEMBERS)
def test_npus_take_static_batches_only(backend: str) -> None:
    edge = to_edge_transform_and_lower(quantized(), partitioner=[backend])
    assert any("the sizes of a tensor are not static" in reason for reason in refusals(edge))
    assert not [op for op in edge.module.walk() if isinstance(op, PayloadOp)]


class Refused(nn.Module):
    """What LiteRT does not compute of batches, in cases."""

    def __init__(self, case: str):
        super().__init__()
        self.case, self.up = case, nn.ConvTranspose2d(3, 4, 2, 2)

    def forward(self, x: Tensor) -> Tensor:
        """Of images [batch, 3, 8, 8]."""
        return {
            "second": lambda: x.transpose(0, 1) * 2,
            "images": lambda: self.up(x),
            "entries": lambda: x[1:],
        }[self.case]()


REFUSED = {
    "second": "a size of [3, batch, 8, 8] behind the first is known when it runs only",
    "images": "the number of images is known when it runs only, and LiteRT's operator has it in a constant",
    "entries": "the size that it divides is known when it runs only",
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_a_batch_has_no_form_for_is_refused(case: str) -> None:
    edge = to_edge_transform_and_lower(exported(Refused(case).eval(), X, least=3), partitioner=["litert{precision=float32}"])
    assert REFUSED[case] in refusals(edge)
    expected = Refused(case).eval()(X) if case != "images" else None
    (found,) = interpret(edge.module, edge.context, run_payload).run("forward", [X.numpy()])
    assert expected is None or np.allclose(np.asarray(found), expected.detach())


def test_a_batch_that_may_be_empty_is_refused() -> None:
    edge = to_edge_transform_and_lower(exported(network(), X, least=0), partitioner=["litert{precision=float32}"])
    assert any("may have no elements; sizes that are never 0 are exported with Dim(…, min=1)" in reason for reason in refusals(edge))
