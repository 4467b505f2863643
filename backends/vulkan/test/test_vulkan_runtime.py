"""The C adapter: options, devices, several delegates at once, and programs that are wrong or whose driver is absent."""

from __future__ import annotations

import re
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from flambeau import to_edge
from flambeau.backends.vulkan.payload import read_payload
from flambeau.compiler.program_profile import profile_program
from flambeau.runtime import FlambeauError, Runtime
from flambeau.runtime.binding.library import find_library
from flambeau.runtime.pte import read_program

nn = torch.nn
CANNOT = "backend 'FlambeauVulkan' cannot load it: "
HEADER = 16


class Gate(nn.Module):
    """A result that is given twice, another that is an input, and a constant of two sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.linspace(-1, 1, 300))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The gate."""
        scaled = x * self.weight
        z = scaled + y
        return z, y, z, scaled


class Chain(Gate):
    """The same of functions that are one dispatch, whose shader a driver compiles for longer."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The chain."""
        z = torch.sigmoid(x * self.weight) + y
        return z, y, z, torch.relu(x - 0.5)


INPUTS = (torch.linspace(-2, 2, 600).reshape(2, 300), torch.tensor([[0.5], [2.0]]))


def program(module: nn.Module, *inputs: torch.Tensor) -> bytes:
    return bytes(to_edge(torch.export.export(module, inputs)).to_backend("vulkan").to_executorch().buffer)


@pytest.fixture(scope="module")
def gate() -> bytes:
    return program(Gate(), *INPUTS)


def load(data: bytes, **options: Any) -> Any:
    return Runtime.get().load_program(data, backend_options={"vulkan": options}).load_method("forward")


def check(method: Any, scale: float = 1) -> None:
    inputs = tuple(scale * value for value in INPUTS)
    for found, wanted in zip(method.execute([value.numpy() for value in inputs]), Gate()(*inputs), strict=True):
        np.testing.assert_allclose(np.asarray(found), wanted.detach().numpy(), rtol=1e-5, atol=1e-6)


def check_scales(method: Any) -> None:
    for scale in (1, 0.25, -3):
        check(method, scale)


@pytest.mark.usefixtures("driver")
def test_calls_repeat_and_instances_share_a_device(gate: bytes):
    methods = [load(gate) for _ in range(3)]
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(check_scales, methods))


def test_a_device_is_chosen_by_index_or_name(gate: bytes, driver: str):
    name = {"lavapipe": "llvmpipe", "swiftshader": "SwiftShader"}[driver]
    for device in ("0", name):
        check(load(gate, device=device))
    # A number is an index, also where it is in a name, as 1 is in "LLVM 10.0".
    for device in ("1", "10", "7", "no such device"):
        said = f"option device is the index of a device with Vulkan 1.1, or a part of its name, not '{device}': 0 is .*{name}"
        with pytest.raises(FlambeauError, match=CANNOT + said):
            load(gate, device=device)


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"threads": 2}, "backend 'vulkan' has no option 'threads'; it has cache, device, library, profile, timeout"),
        ({"timeout": "soon"}, "option timeout is a number of milliseconds, not 'soon'"),
        ({"timeout": 0}, "option timeout is a number of milliseconds, not '0'"),
        ({"profile": "yes"}, "option profile is 0 or 1, not 'yes'"),
        ({"cache": "/nowhere/pipelines"}, "the file of option cache cannot be written: /nowhere/pipelines"),
    ],
)
def test_options_are_checked(gate: bytes, options: dict[str, Any], said: str):
    with pytest.raises(FlambeauError, match=re.escape(said)):
        load(gate, **options)


@pytest.mark.usefixtures("driver")
def test_pipelines_are_kept_in_a_file(gate: bytes, tmp_path: Path):
    file = tmp_path / "pipelines"
    check(load(gate, cache=str(file)))
    kept = file.read_bytes()
    assert kept[:4] == b"FLVC" and zlib.adler32(kept[8:]) == int.from_bytes(kept[4:8], "little")
    check(load(gate, cache=str(file)))
    # What is no cache, is damaged, or is another driver's, is written anew.
    for other in (
        b"",
        b"some text",
        kept[:-1] + bytes([kept[-1] ^ 255]),
        kept[:4] + zlib.adler32(b"other").to_bytes(4, "little") + b"other",
    ):
        file.write_bytes(other)
        check(load(gate, cache=str(file)))
        assert file.read_bytes()[:4] == b"FLVC" and [entry.name for entry in tmp_path.iterdir()] == [file.name]


@pytest.mark.usefixtures("driver")
def test_a_profile_has_the_times_of_dispatches(gate: bytes):
    profile = profile_program(gate, lambda: [value.numpy() for value in INPUTS], iterations=3)
    inside = [row for row in profile.rows() if row.is_inside]
    payloads = [read_payload(memoryview(bytes(each.processed))) for each in read_program(gate).execution_plan[0].delegates]
    assert len(inside) == sum(len(payload.calls) for payload in payloads)
    assert {row.name for row in inside} == {item.name for payload in payloads for item in payload.operators}
    whole = sum(event.nanoseconds for run in profile.runs for event in run if event.kind.name == "DELEGATE")
    assert 0 < sum(sum(row.times) for row in inside) < whole


def test_what_is_missing_is_said(gate: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    for variable in ("VK_DRIVER_FILES", "VK_ICD_FILENAMES"):
        monkeypatch.setenv(variable, str(tmp_path / "nowhere"))
    with pytest.raises(FlambeauError, match=r"no driver of Vulkan is installed|there is no Vulkan library here"):
        load(gate)
    with pytest.raises(FlambeauError, match=f"the Vulkan library cannot be loaded: {tmp_path}"):
        load(gate, library=str(tmp_path / "nowhere"))
    other = str(find_library())
    with pytest.raises(FlambeauError, match=f"it is no Vulkan library, for it has no function vkGetInstanceProcAddr: {other}"):
        load(gate, library=other)


def test_damage_is_refused(tmp_path: Path):
    chain = program(Chain(), *INPUTS)
    payload = bytes(read_program(chain).execution_plan[0].delegates[0].processed)
    rng = np.random.default_rng(0)

    def said(changed: bytes) -> str:
        with pytest.raises(FlambeauError) as caught:
            load(chain.replace(payload, changed), library=str(tmp_path / "nowhere"))
        return str(caught.value)

    for size in (0, HEADER):
        bad = bytearray(payload)
        bad[rng.integers(size, len(bad))] ^= 255
        assert re.search("its payload is (damaged|of version)", said(bytes(bad)))
    for word in rng.choice(len(payload) // 4 - HEADER // 4, 60, replace=False):
        # With a right checksum, what is changed may be a number of an operator, or of the device.
        body = bytearray(payload[HEADER:])
        body[4 * word : 4 * word + 4] = rng.bytes(4)
        told = said(payload[:8] + zlib.adler32(body).to_bytes(4, "little") + payload[12:HEADER] + bytes(body))
        assert "its payload is damaged" in told or "the Vulkan library cannot be loaded" in told
