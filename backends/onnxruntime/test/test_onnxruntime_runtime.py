"""The C adapter and the library: options, sizes, threads, and programs that are wrong or whose library is absent."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from flambeau import to_edge
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.binding.library import find_library

REFUSES = "backend 'OnnxRuntimeBackend' refuses it: "
IMAGE = torch.linspace(-1, 1, 192).reshape(1, 3, 8, 8)


@cache
def net() -> nn.Module:
    cast(Any, torch).manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5), nn.Softmax(-1)).eval()


def program(module: nn.Module, *inputs: Tensor, **export: Any) -> bytes:
    return bytes(to_edge(torch.export.export(module, inputs, **export)).to_backend("onnxruntime").to_executorch().buffer)


@pytest.fixture
def load(onnxruntime_library: Path) -> Callable[..., Any]:
    """Loads the method of a program with options of the backend."""

    def load_method(data: bytes, **options: Any) -> Any:
        given = {"library": str(onnxruntime_library), **options}
        return Runtime.get().load_program(data, backend_options={"onnxruntime": given}).load_method("forward")

    return load_method


def test_it_computes_with_any_number_of_threads(load: Callable[..., Any]) -> None:
    expected = net()(IMAGE).detach().numpy()
    for options in ({}, {"threads": 2}):
        np.testing.assert_allclose(load(program(net(), IMAGE), **options).execute([IMAGE.numpy()])[0], expected, rtol=1e-5, atol=1e-6)


class Copies(nn.Module):
    """Results that are inputs, or are so after ONNX Runtime has simplified them; one result twice; numbers without dimensions."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        negative = -x
        return torch.relu(x), -negative, x * 1.0, x.transpose(0, 1).transpose(0, 1).clone(), negative, negative + 0, y * 2, x.sum()


def test_outputs_that_are_inputs_are_right_and_leave_them_alone(load: Callable[..., Any]) -> None:
    x, y = torch.tensor([[1.0, -2.0, 3.0]]), torch.tensor(4.0)
    method = load(program(Copies(), x, y))
    for scale in (1, 2):
        inputs = [(x * scale).numpy(), (y * scale).numpy()]
        kept = [array.copy() for array in inputs]
        for found, expected in zip(method.execute(inputs), Copies()(x * scale, y * scale), strict=True):
            np.testing.assert_array_equal(np.asarray(found), expected.numpy())
        assert all(np.array_equal(a, b) for a, b in zip(inputs, kept, strict=True))


class Signs(nn.Module):
    """Functions of numbers that are none, and of infinite ones."""

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        return torch.sign(x), torch.sign(x.half()), torch.sign(x.nan_to_num(0).int())


def test_the_sign_of_what_is_no_number_is_that_of_pytorch(load: Callable[..., Any]) -> None:
    x = torch.tensor([torch.nan, -torch.inf, -0.0, 0.0, torch.inf, 2.0] * 3)
    for found, expected in zip(load(program(Signs(), x)).execute([x.numpy()]), Signs()(x), strict=True):
        np.testing.assert_array_equal(found, expected.numpy())


def test_sizes_of_a_call_are_those_that_the_program_says(load: Callable[..., Any]) -> None:
    sizes = {0: torch.export.Dim("rows", min=2, max=5)}
    method = load(program(nn.Sequential(nn.Linear(4, 2), nn.Tanh()).eval(), torch.rand(3, 4), dynamic_shapes=({0: sizes[0]},)))
    for rows in (5, 2, 3):
        assert np.asarray(method.execute([np.ones((rows, 4), np.float32)])[0]).shape == (rows, 2)
    for rows in (1, 6):
        with pytest.raises(FlambeauError):
            method.execute([np.ones((rows, 4), np.float32)])


def test_methods_run_at_once(load: Callable[..., Any]) -> None:
    data, inputs = program(net(), IMAGE), [IMAGE * scale for scale in range(1, 5)]
    methods = [load(data) for _ in inputs]

    def call(index: int) -> Any:
        return [np.asarray(methods[index].execute([inputs[index].numpy()])[0]).copy() for _ in range(20)]

    with ThreadPoolExecutor(len(inputs)) as pool:
        for found, x in zip(pool.map(call, range(len(inputs))), inputs, strict=True):
            for result in found:
                np.testing.assert_allclose(result, net()(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_an_index_out_of_range_is_refused(load: Callable[..., Any]) -> None:
    method = load(program(nn.Embedding(4, 3), torch.tensor([1, 2])))
    with pytest.raises(FlambeauError, match=r"ONNX Runtime fails: .*out of .*bounds") as caught:
        method.execute([np.array([1, 4])])
    assert "\n" not in str(caught.value)


def test_changed_payloads_are_refused_or_run(run_changed: Callable[[list[bytes], int], list[int]]) -> None:
    results = run_changed([program(net(), IMAGE)], 100)
    assert sum(results) == 100 and results[0] > 50, results


CHANGES: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: data.replace(b"FLOX\1", b"FLOX\2"), "its payload is of version 2; this runtime reads 1$"),
    (lambda data: data.replace(b"FLOX", b"FLOW"), r"its payload is damaged: its \d+ bytes do not begin with a label$"),
    (
        lambda data: data.replace(b"Relu", b"Rely"),
        "its payload is damaged: its model has another size or checksum than its label says$",
    ),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_what_is_no_payload_is_refused(load: Callable[..., Any], change: Callable[[bytes], bytes], message: str) -> None:
    with pytest.raises(FlambeauError, match=message) as caught:
        load(change(program(net(), IMAGE)))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"threads": 0}, REFUSES + r"its option 'threads' is a number from 1 to 1024, not '0'$"),
        ({"log": 2}, REFUSES + r"its option 'log' is a number from 0 to 1, not '2'$"),
        ({"thread": 1}, r"backend 'onnxruntime' has no option 'thread'; it has library, log, threads; did you mean 'threads'\?$"),
        ({"library": "/nowhere.so"}, REFUSES + r"the ONNX Runtime library cannot be loaded: /nowhere.so: cannot open shared object file"),
        ({"library": str(find_library())}, r"is not the C library of ONNX Runtime: it has no OrtGetApiBase$"),
    ],
)
def test_options_that_are_wrong_are_refused(load: Callable[..., Any], options: dict[str, object], message: str) -> None:
    with pytest.raises(FlambeauError, match=message) as caught:
        load(program(net(), IMAGE), **options)
    assert "\n" not in str(caught.value)


class Places(nn.Module):
    """New rows of a cache, of which the run decides how many there are, and the last of them."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = nn.Buffer(torch.zeros(2, 8, 3))

    def forward(self, rows: Tensor, places: Tensor) -> tuple[Tensor, ...]:
        self.cache.index_copy_(1, places, rows)
        return self.cache * 2, rows[:, -1:] + 1, rows[:, -2:-1] * 3


def test_rows_of_any_number_are_put_into_a_cache(load: Callable[..., Any]) -> None:
    size = torch.export.Dim("rows", min=2, max=6)
    method = load(program(Places(), torch.rand(2, 3, 3), torch.tensor([1, 0, 5]), dynamic_shapes=({1: size}, {0: size})))
    module = Places()
    assert set(method.metadata.backend_names) == {"OnnxRuntimeBackend"}
    for places in ([4, 2], [7, 0, 1, 2, 3, 6], [5, 1, 0]):
        rows, indices = torch.rand(2, len(places), 3), torch.tensor(places)
        for found, expected in zip(method.execute([rows.numpy(), indices.numpy()]), module(rows, indices), strict=True):
            np.testing.assert_array_equal(found, expected.numpy())
