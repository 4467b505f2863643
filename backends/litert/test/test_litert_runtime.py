"""The C adapter and the library: kernels, places of arguments, threads, and programs that are wrong or whose library is absent."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from quantized_kinds import KINDS
from quantized_programs import quantized_by_pt2e
from runtime_programs import executable
from torch import Tensor, nn
from torch_programs import seed

from flambeau import EdgeProgramManager, to_edge_transform_and_lower
from flambeau.backends.litert import KERNELS
from flambeau.backends.litert.label import LABEL_BYTES, labelled
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.binding.library import find_library
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import read_program
from flambeau.support.lazy import Array

FLOATS = "litert{precision=float32}"
REFUSES = "backend 'LiteRtBackend' refuses it: "
LOADS_NOT = "backend 'LiteRtBackend' cannot load it: "
X = torch.linspace(-1, 1, 192).reshape(1, 3, 8, 8)


def net() -> nn.Module:
    seed()
    return nn.Sequential(nn.Conv2d(3, 8, 3, bias=False), nn.ReLU(), nn.Flatten(), nn.Linear(288, 5)).eval()


def lowered(module: nn.Module, *inputs: Tensor, backend: str = FLOATS) -> EdgeProgramManager:
    return to_edge_transform_and_lower(torch.export.export(module, inputs), partitioner=[backend])


def program(module: nn.Module, *inputs: Tensor, backend: str = FLOATS) -> bytes:
    return bytes(lowered(module, *inputs, backend=backend).to_executorch().buffer)


@pytest.fixture
def run(litert_library: Path) -> Callable[..., list[Array]]:
    """Runs a program once, with options."""

    def called(data: bytes, *inputs: Tensor, **options: Any) -> list[Array]:
        given = {"library": str(litert_library), **options}
        method = Runtime.get().load_program(data, backend_options={"litert": given}).load_method("forward")
        return [np.asarray(result).copy() for result in method.execute([tensor.numpy() for tensor in inputs])]

    return called


def by_numpy(edge: EdgeProgramManager, inputs: Sequence[Tensor]) -> list[Array]:
    return [
        np.asarray(item) for item in interpret(edge.module, edge.context, run_payload).run("forward", [item.numpy() for item in inputs])
    ]


@pytest.mark.parametrize("kernels", KERNELS)
def test_kernels_compute_in_floats_what_numpy_does(kernels: str, run: Callable[..., list[Array]]) -> None:
    data, expected = program(net(), X), net()(X).detach().numpy()
    for options in ({"kernels": kernels}, {"kernels": kernels, "threads": 2}):
        np.testing.assert_allclose(run(data, X, **options)[0], expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("number", range(len(KINDS)))
def test_kernels_compute_in_integers_what_numpy_does(number: int, run: Callable[..., list[Array]]) -> None:
    """The reference kernels bit for bit, others within a step of the result."""
    layer = KINDS[number](number, None)
    edge = lowered(layer, *layer.inputs, backend="litert{kernels=reference}")
    data, expected = bytes(edge.to_executorch().buffer), by_numpy(edge, layer.inputs)
    for found, exact in zip(run(data, *layer.inputs), expected, strict=True):
        np.testing.assert_array_equal(found, exact)
    for kernels in KERNELS[:2]:
        for found, exact in zip(run(data, *layer.inputs, kernels=kernels), expected, strict=True):
            steps = np.diff(np.unique(exact))
            np.testing.assert_allclose(found, exact, rtol=0, atol=1.001 * steps.min() if len(steps) else 0)


class Copies(nn.Module):
    """Results that are inputs, or moved inputs; one result twice."""

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        """Of [1, 3] and [3, 1]: nine results."""
        z = torch.relu(x)
        return z, x.reshape(3, 1), y.t(), z, z + 0, y * 2, x + y, torch.cat([y, y]), x.view(1, 1, 3)


@pytest.mark.parametrize("kernels", KERNELS)
def test_outputs_that_are_inputs_are_right_and_leave_them_alone(kernels: str, litert_library: Path) -> None:
    x, y = torch.tensor([[1.0, -2.0, 3.0]]), torch.tensor([[4.0], [5.0], [-6.0]])
    options = {"library": str(litert_library), "kernels": kernels}
    method = Runtime.get().load_program(program(Copies(), x, y), backend_options={"litert": options}).load_method("forward")
    for scale in (1, 2, 3):
        inputs = [(x * scale).numpy(), (y * scale).numpy()]
        kept = [array.copy() for array in inputs]
        for found, expected in zip(method.execute(inputs), Copies()(x * scale, y * scale), strict=True):
            np.testing.assert_array_equal(np.asarray(found), expected.numpy())
        assert all(np.array_equal(a, b) for a, b in zip(inputs, kept, strict=True))


def test_arguments_at_any_place_are_read(litert_library: Path) -> None:
    """LiteRT takes memory at multiples of 64 bytes, and XNNPACK reads a few bytes behind it."""
    method = (
        Runtime.get().load_program(program(net(), X), backend_options={"litert": {"library": str(litert_library)}}).load_method("forward")
    )
    expected, memory = net()(X).detach().numpy(), np.zeros(4096, np.float32)
    for place in (*range(18), 512, 1024 - 192 + 512):
        memory[place : place + X.numel()] = X.numpy().reshape(-1)
        found = method.execute([memory[place : place + X.numel()].reshape(X.shape)])
        np.testing.assert_allclose(np.asarray(found[0]), expected, rtol=1e-5, atol=1e-6)


def test_methods_run_at_once(litert_library: Path) -> None:
    data, inputs = program(net(), X), [X * scale for scale in range(1, 5)]
    options = {"litert": {"library": str(litert_library)}}
    methods = [Runtime.get().load_program(data, backend_options=options).load_method("forward") for _ in inputs]

    def call(index: int) -> Any:
        return [np.asarray(methods[index].execute([inputs[index].numpy()])[0]).copy() for _ in range(20)]

    with ThreadPoolExecutor(len(inputs)) as pool:
        for found, x in zip(pool.map(call, range(len(inputs))), inputs, strict=True):
            for result in found:
                np.testing.assert_allclose(result, net()(x).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_changed_payloads_are_refused_or_run(run_changed: Callable[[list[bytes], int], list[int]]) -> None:
    seed()
    module, x = nn.Conv2d(3, 4, 3), torch.randn(1, 3, 8, 8)
    results = run_changed([program(module, x)], 100)
    assert sum(results) == 100 and results[0] > 0 and results[2] > 0, results


def with_payload(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The program with other bytes of the same number for its payload."""
    payload = bytes(read_program(data).execution_plan[0].delegates[0].processed)
    changed = change(payload)
    assert len(changed) == len(payload) and data.count(payload) == 1
    return data.replace(payload, changed)


def of_model(change: Callable[[bytes], bytes], inputs: int = 1) -> Callable[[bytes], bytes]:
    """A change of the model whose label fits."""
    return lambda payload: labelled(change(payload[:-LABEL_BYTES]), inputs, 1)


CHANGES: dict[str, tuple[Callable[[bytes], bytes], str]] = {
    "no label": (
        lambda payload: payload[:-LABEL_BYTES] + bytes(LABEL_BYTES),
        REFUSES + "its payload is damaged: it does not end with a label$",
    ),
    "version": (
        lambda payload: payload[: 4 - LABEL_BYTES] + b"\3" + payload[5 - LABEL_BYTES :],
        REFUSES + "its payload is of version 3; this runtime reads 1 and 2$",
    ),
    "model": (lambda payload: b"\0" + payload[1:], REFUSES + "its payload is damaged: its model has another checksum than its label says$"),
    "tables": (
        of_model(lambda model: b"\xff" * 4 + model[4:]),
        LOADS_NOT + r"its payload is damaged: LiteRT does not read its model \(status \d+\)$",
    ),
    "inputs": (of_model(bytes, 2), LOADS_NOT + "its payload is damaged: its model has 1 inputs and 1 outputs, its label 2 and 1$"),
    "counts": (of_model(bytes, 2**31), REFUSES + r"its payload is damaged: 2147483648 inputs and 1 outputs are not those of \d+ bytes$"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_what_is_no_payload_is_refused(name: str, run: Callable[..., list[Array]]) -> None:
    change, message = CHANGES[name]
    with pytest.raises(FlambeauError, match=message) as caught:
        run(with_payload(program(net(), X), change), X)
    assert "\n" not in str(caught.value)


def test_what_litert_refuses_is_said_in_one_line(run: Callable[..., list[Array]]) -> None:
    """A pool whose steps are 0, in a model whose tables are in order."""
    step, x = 97, torch.randn(1, 2, 98, 98)
    data = program(nn.MaxPool2d(1, step), x)
    found = with_payload(data, of_model(lambda model: model.replace(step.to_bytes(4, "little"), bytes(4))))
    message = LOADS_NOT + r"LiteRT does not prepare it: .*stride_height > 0 was not true.* \(MAX_POOL_2D\) failed to prepare"
    with pytest.raises(FlambeauError, match=message) as caught:
        run(found, x, kernels="reference")
    assert "\n" not in str(caught.value)


OPTIONS: list[tuple[dict[str, object], str]] = [
    ({"threads": 0}, REFUSES + r"its option 'threads' is a number from 1 to 1024, not '0'$"),
    ({"log": "yes"}, REFUSES + r"its option 'log' is a number from 0 to 1, not 'yes'$"),
    ({"kernels": "fast"}, REFUSES + r"its option 'kernels' is xnnpack, optimized or reference, not 'fast'$"),
    ({"thread": 1}, r"backend 'litert' has no option 'thread'; it has kernels, library, log, threads; did you mean 'threads'\?$"),
    ({"library": "/nowhere.so"}, REFUSES + r"the LiteRT library cannot be loaded: /nowhere.so: cannot open shared object file"),
]


@pytest.mark.parametrize(("options", "message"), OPTIONS)
def test_options_that_are_wrong_are_refused(options: dict[str, object], message: str, run: Callable[..., list[Array]]) -> None:
    with pytest.raises(FlambeauError, match=message) as caught:
        run(program(net(), X), X, **options)
    assert "\n" not in str(caught.value)


def test_kernels_are_a_word_that_the_backend_knows() -> None:
    with pytest.raises(ValueError, match=r"option 'kernels' is one of xnnpack, optimized, reference, not 'fast'"):
        lowered(net(), X, backend="litert{kernels=fast}")


def test_another_library_is_refused(run: Callable[..., list[Array]]) -> None:
    with pytest.raises(FlambeauError, match=r"is not the C library of LiteRT 2\.1\.6 or newer: it has no LiteRtCreateModelFromFd$"):
        run(program(net(), X), X, library=str(find_library()))


def test_without_the_package_the_message_says_what_to_install(tmp_path: Path) -> None:
    """A library of ours that lies elsewhere, as where the package is not installed."""
    source, target = find_library(), tmp_path / "model.pte"
    target.write_bytes(program(net(), X))
    np.save(tmp_path / "x.npy", X.numpy())
    environment = {name: value for name, value in os.environ.items() if name != "FLAMBEAU_LITERT_LIBRARY"}
    environment["FLAMBEAU_LIBRARY"] = str(shutil.copy(source, tmp_path))
    runner = shutil.copy(executable(), tmp_path)
    for command in ([sys.executable, "-m", "flambeau.tools.main", "run", target], [runner, target]):
        done = subprocess.run([*command, "--input", tmp_path / "x.npy"], capture_output=True, text=True, env=environment)
        message = (
            r"there is no LiteRT library here: pip install 'flambeau\[litert\]', or set FLAMBEAU_LITERT_LIBRARY .* flambeau env prints$"
        )
        assert done.returncode != 0 and done.stderr.count("\n") == 1 and re.search(REFUSES + message, done.stderr), done.stderr


def test_the_command_line_finds_the_library_by_the_environment(tmp_path: Path, litert_library: Path) -> None:
    (tmp_path / "model.pte").write_bytes(program(net(), X))
    np.save(tmp_path / "x.npy", X.numpy())
    environment = {**os.environ, "FLAMBEAU_LITERT_LIBRARY": str(litert_library)}
    command = [executable(), tmp_path / "model.pte", "--input", tmp_path / "x.npy", "--backend-option", "litert.threads=2"]
    done = subprocess.run([*command, "--backend-option", "litert.log=1"], capture_output=True, text=True, env=environment)
    assert done.returncode == 0 and "LiteRT" in done.stderr, done.stderr


def test_a_network_of_integers_is_one_delegate(run: Callable[..., list[Array]]) -> None:
    seed()
    quantized = quantized_by_pt2e(net(), X, per_channel=True)
    edge = to_edge_transform_and_lower(quantized, partitioner=["litert"])
    (expected,), data = by_numpy(edge, [X]), bytes(edge.to_executorch().buffer)
    assert data.count(b"LiteRtBackend") == 1
    for kernels in KERNELS:
        (found,) = run(data, X, kernels=kernels)
        step = np.diff(np.unique(expected)).min()
        np.testing.assert_allclose(found, expected, rtol=0, atol=0 if kernels == "reference" else 1.001 * step)
