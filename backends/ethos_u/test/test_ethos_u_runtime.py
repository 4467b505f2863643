"""The part of the C runtime: with a driver whose NPU is the simulator, and without one."""

from __future__ import annotations

import ctypes
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from quantized_programs import quantized_by_pt2e
from runtime_programs import executable
from simulated import Recorder, Simulator, streams
from torch import nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import EdgeProgramManager, Runtime, to_edge_transform_and_lower
from flambeau.backends import ethos_u
from flambeau.backends.ethos_u.bin_stream import read, write
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime.binding import FlambeauError, find_library, include_folder
from flambeau.runtime.binding.libraries import remove_backend
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import read_program

SOURCES, DRIVER = Path(ethos_u.__file__).parent / "runtime", Path(__file__).parent / "driver"
NPU = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.POINTER(ctypes.c_uint64), ctypes.POINTER(ctypes.c_size_t))
CYCLES = 3


class Network(nn.Module):
    """A layer of images, a clamp, and a layer of rows, with two results."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Linear(8, 5)

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Scores, and what they are of."""
        z = torch.relu(self.first(x)).mean((2, 3)) + y
        return self.second(z), z


Compiled = tuple[EdgeProgramManager, bytes, Recorder, Sequence[torch.Tensor], str]


@pytest.fixture(scope="module", params=installed("ethos_u", "vela"))
def compiled(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compiled]:
    """A program with one delegate, what was compiled, its inputs, and the program of Vela."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("FLAMBEAU_VELA", request.param)
        seed()
        recorder, inputs = Recorder(patch), (torch.randn(1, 3, 9, 9), torch.randn(1, 8))
        edge = to_edge_transform_and_lower(quantized_by_pt2e(Network(), *inputs), partitioner=["ethos_u"])
        assert len(streams(edge)) == 1
        yield edge, bytes(edge.to_executorch().buffer), recorder, inputs, request.param


@pytest.fixture
def driver(tmp_path: Path) -> Iterator[Any]:
    """The adapter, built with a driver: the function that connects an NPU."""
    library = tmp_path / "libethos_u.so"
    command = ["cc", "-std=c11", "-Wall", "-Wextra", "-Wconversion", "-Werror", "-shared", "-fPIC", "-DFLAMBEAU_ETHOS_U_DRIVER"]
    command += [f"-I{include_folder()}", f"-I{DRIVER}", *map(str, (*SOURCES.glob("*.c"), DRIVER / "driver.c"))]
    subprocess.run([*command, str(find_library()), "-o", str(library)], check=True)
    Runtime.get().backend_registry.add("ethos_u", library)
    yield ctypes.CDLL(str(library)).connect_npu
    remove_backend("ethos_u")


def test_the_runtime_gives_the_driver_what_the_simulator_runs(compiled: Compiled, driver: Any) -> None:
    edge, program, recorder, inputs, vela = compiled
    simulator, calls = Simulator(str(Path(vela).with_name("python"))), list[int]()
    graph = streams(edge)[0]

    def run(commands: int, size: int, bases: Any, sizes: Any) -> int:
        calls.append(size)
        given = replace(graph, commands=ctypes.string_at(commands, size), weights=ctypes.string_at(bases[0], sizes[0]))
        if given != graph or (sizes[1], sizes[2]) != (graph.scratch, 0):
            return -3
        scratch = np.frombuffer((ctypes.c_uint8 * sizes[1]).from_address(bases[1]), np.uint8)
        results = simulator.run(given, [scratch[item.offset : item.offset + item.size] for item in graph.inputs])
        for item, result in zip(graph.outputs, results, strict=True):
            scratch[item.offset : item.offset + item.size] = result.reshape(-1).view(np.uint8)
        return 0

    npu = NPU(run)
    driver(npu)

    def by_numpy(identifier: str, data: memoryview, named: Any, arrays: Sequence[Any], outputs: bool) -> Sequence[Any]:
        return run_payload("TosaBackend", memoryview(recorder.graphs[bytes(data)]), {}, arrays, outputs)

    expected = interpret(edge.module, edge.context, by_numpy).run("forward", [item.numpy() for item in inputs])
    method = Runtime.get().load_program(program).load_method("forward")
    for _ in range(CYCLES):
        for found, wanted in zip(method.execute([*inputs]), expected, strict=True):
            np.testing.assert_array_equal(np.asarray(found), np.asarray(wanted))
    assert calls == [len(graph.commands)] * CYCLES
    simulator.close()


def test_a_driver_that_fails_is_said(compiled: Compiled, driver: Any) -> None:
    npu = NPU(lambda *_: -7)
    driver(npu)
    method = Runtime.get().load_program(compiled[1]).load_method("forward")
    with pytest.raises(FlambeauError, match="the driver of the Ethos-U fails with -7"):
        method.execute([*compiled[3]])
    driver(None)
    with pytest.raises(FlambeauError, match="the driver of the Ethos-U fails with -1"):
        method.execute([*compiled[3]])


def refusal(program: bytes, folder: Path) -> str:
    """What a runtime without a driver says of a program, in one line."""
    (folder / "f.pte").write_bytes(program)
    done = subprocess.run([executable(), "f.pte"], capture_output=True, text=True, check=False, cwd=folder)
    assert done.returncode == 4 and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_a_build_without_a_driver_refuses_and_knows_the_memory(compiled: Compiled, tmp_path: Path) -> None:
    edge, program, *_ = compiled
    said = refusal(program, tmp_path)
    assert "an Ethos-U runs it, and this build has no driver of one" in said and "-DFLAMBEAU_ETHOS_U_DRIVER" in said
    needed = Runtime.get().load_program(program).metadata("forward").memory.scratch
    assert needed >= streams(edge)[0].scratch


def test_damage_is_refused(compiled: Compiled, tmp_path: Path) -> None:
    program = compiled[1]
    payload = bytes(read_program(program).execution_plan[0].delegates[0].processed)
    graph, rng = read(memoryview(payload)), np.random.default_rng(0)
    first = graph.inputs[0]
    outside = replace(graph, inputs=[replace(first, offset=graph.scratch - first.size + 1), *graph.inputs[1:]])
    elsewhere = replace(graph, inputs=[replace(first, region=2), *graph.inputs[1:]])
    huge = replace(graph, inputs=[replace(first, shape=(2**31 - 1,) * 6), *graph.inputs[1:]])
    for bad, why in (
        (b"vela_bin_strean" + payload[15:], "it does not begin as a Vela bin stream"),
        (payload.replace(b"vela_end", b"vela_and"), "a block is unknown, is there twice, or ends behind it"),
        (payload.replace(b"weight_data", b"cmd_data\0\0\0"), "a block is unknown, is there twice, or ends behind it"),
        (payload.replace(b"COP1", b"PCO1"), "its commands do not begin as those of the driver"),
        (write(outside), "an input or an output does not lie in the scratch memory"),
        (write(elsewhere), "an input or an output does not lie in the scratch memory"),
        (write(huge), "an input or an output does not lie in the scratch memory"),
    ):
        assert why in refusal(program.replace(payload, bad), tmp_path), bad[:64]
    for _ in range(20):
        bad = bytearray(payload)
        for place in rng.integers(0, len(bad), 3):
            bad[place] ^= 1 << rng.integers(0, 8)
        assert "delegate 0" in refusal(program.replace(payload, bytes(bad)), tmp_path)
