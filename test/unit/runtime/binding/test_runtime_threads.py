"""Methods that threads compute: the same bits with any number of them, side by side, and refusals."""

import resource
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch_programs import seed

from flambeau import EdgeCompileConfig, to_edge
from flambeau.runtime import FlambeauError, Runtime
from flambeau.tools.main import main


class Layers(torch.nn.Module):
    """Convolutions of each kind, products, attention and functions of elements, each large enough to be divided."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 32, 3, stride=2, padding=1)
        self.depthwise = torch.nn.Conv2d(32, 32, 3, padding=1, groups=32)
        self.dilated = torch.nn.Conv2d(32, 40, 3, padding=2, dilation=2)
        self.grouped = torch.nn.Conv2d(40, 8, 3, padding=1, groups=8)
        self.project = torch.nn.Linear(576, 192)
        self.last = torch.nn.Linear(64, 1000)

    def forward(self, image: torch.Tensor) -> tuple[torch.Tensor, ...]:
        x = torch.relu(self.depthwise(torch.nn.functional.silu(self.first(image))))
        x = self.grouped(torch.relu(self.dilated(x)))
        q, k, v = self.project(x.flatten(2)).reshape(1, 8, 3, 64).repeat(1, 4, 30, 1).chunk(3, dim=2)
        y = scaled_dot_product_attention(q, k, v)
        return x, y, self.last(y[:, :, :1]), torch.sin(y * 1000) * y.exp()


IMAGE = np.random.default_rng(3).standard_normal((1, 3, 48, 48), np.float32)


@cache
def program(target: str) -> bytes:
    seed()
    exported = torch.export.export(Layers().eval(), (torch.tensor(IMAGE),))
    return bytes(to_edge(exported, compile_config=EdgeCompileConfig(target=target)).to_executorch().buffer)


def results(runtime: Runtime, target: str) -> list[bytes]:
    method = runtime.load_program(program(target)).load_method("forward")
    first = [array.tobytes() for array in method.execute([IMAGE])]
    assert [array.tobytes() for array in method.execute([IMAGE])] == first
    return first


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
@pytest.mark.parametrize("threads", [2, 3, 4])
def test_the_bits_do_not_depend_on_the_number_of_threads(target: str, threads: int) -> None:
    assert results(Runtime(threads), target) == results(Runtime.get(), target)


def test_methods_side_by_side_share_the_threads_of_a_runtime() -> None:
    alone, runtime = results(Runtime.get(), "flambeau"), Runtime(threads=2)
    with ThreadPoolExecutor(3) as callers:
        assert all(found == alone for found in callers.map(results, [runtime] * 6, ["flambeau"] * 6))


@pytest.mark.parametrize("threads", [0, -1, 1025, 1.5, "2", None])
def test_a_number_of_threads_is_checked(threads: Any) -> None:
    with pytest.raises(ValueError, match="a number of threads is an integer between 1 and 1024, not "):
        Runtime(threads)


def test_one_thread_creates_none() -> None:
    assert Runtime(1).threads.handle is None


def test_a_process_without_so_many_threads_says_so() -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    # The stacks of all of them are more memory than the process may have.
    resource.setrlimit(resource.RLIMIT_AS, (taken + (512 << 20), before[1]))
    try:
        with pytest.raises(FlambeauError, match=r"the system gives this process \d+ of 1024 threads"):
            Runtime(1024)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_the_command_computes_with_threads(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    np.save(tmp_path / "x.npy", IMAGE)
    (tmp_path / "layers.pte").write_bytes(program("flambeau"))
    command = ["run", str(tmp_path / "layers.pte"), "--input", str(tmp_path / "x.npy")]
    for name, options in (("one", []), ("three", ["--threads", "3"])):
        assert main([*command, "--output", str(tmp_path / f"{name}.npz"), *options]) == 0
    one, three = np.load(tmp_path / "one.npz"), np.load(tmp_path / "three.npz")
    assert one.files == three.files
    assert all(one[name].tobytes() == three[name].tobytes() for name in one.files)
    assert main([*command, "--threads", "2", "--engine", "numpy"]) != 0
    assert "--threads is for the engine c, and the engine is numpy" in capsys.readouterr().err
