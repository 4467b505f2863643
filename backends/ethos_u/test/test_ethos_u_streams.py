"""Command streams in the simulator: bit for bit what the numpy of their TOSA graphs gives, for each kind of operator."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from quantized_calls import CALLS, QuantizedCall, QuantizedCalls
from quantized_layers import QuantizedLayer, QuantizedPool, QuantizedSum, quantized
from quantized_programs import ops
from simulated import Recorder, Simulator, streams
from torch import Tensor, nn
from vendor_tools import installed

from flambeau import get_delegation_info, to_edge_transform_and_lower

LARGER_ONLY = "transposed convolution|nearest pixels|four pixels|reversal|softmax|log_softmax|layer_norm|group_norm|amin".split("|")
"""What Ethos-U55 and U65 do not take, as it is drawn here."""
OF_BYTES = ("softmax", "log_softmax", "layer_norm", "group_norm")
"""What there is of int8 only."""
PRODUCTS = ("product", "product and bias")
"""What Ethos-U55 and U65 take of int8 only."""
GATHERS = ("places", "rows")
"""What Ethos-U85 alone takes, by transfers that the simulator does not have."""


@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_minima_that_vela_computes_wrongly_stay(vela: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    call = QuantizedCall("amin", 0)
    edge = to_edge_transform_and_lower(torch.export.export(call, call.inputs), partitioner=["ethos_u"])
    assert any("Vela computes REDUCE_MIN wrongly" in reason for _, reason in get_delegation_info(edge).refused)


class LargeBias(nn.Module):
    """A layer between int16, whose bias is more than 40 bits hold in steps of its sums."""

    def forward(self, x: Tensor) -> Tensor:
        """The sums."""
        kernel = ops.dequantize_per_tensor(torch.full((3, 4), 5, dtype=torch.int8), 2.0**-8, 0, -127, 127, torch.int8)
        return quantized(F.linear(quantized(x, 2.0**-12, 0, torch.int16), kernel, torch.tensor([1.0, 6e5, -1.0])), 32.0, 0, torch.int16)


@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_a_bias_of_more_than_40_bits_stays_where_sums_have_40(vela: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    recorder, inputs = Recorder(monkeypatch), (torch.linspace(-7, 7, 8).reshape(2, 4),)
    small, large = (
        to_edge_transform_and_lower(
            torch.export.export(LargeBias(), inputs), partitioner=[f"ethos_u{{accelerator={accelerator} activations=int16}}"]
        )
        for accelerator in ("ethos-u55-128", "ethos-u85-256")
    )
    assert not streams(small)
    assert any(
        "bias must fit in signed int40, and its sums with the bias go up to" in reason for _, reason in get_delegation_info(small).refused
    )
    simulator = Simulator(str(Path(vela).with_name("python")))
    assert recorder.differences(simulator, large, [item.numpy() for item in inputs]) == [0]
    simulator.close()


class Copies(nn.Module):
    """Images of twice the size, by copies of pixels."""

    def forward(self, x: Tensor) -> Tensor:
        """The images."""
        return quantized(F.interpolate(quantized(x, 0.125, 3, torch.int8), scale_factor=2.0), 0.125, 3, torch.int8)


@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_the_smallest_accelerator_copies_pixels(vela: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    recorder, x = Recorder(monkeypatch), torch.linspace(-9, 9, 60).reshape(1, 4, 3, 5)
    edge = to_edge_transform_and_lower(torch.export.export(Copies(), (x,)), partitioner=["ethos_u"])
    assert len(streams(edge)) == 1
    simulator = Simulator(str(Path(vela).with_name("python")))
    assert recorder.differences(simulator, edge, [x.numpy()]) == [0]
    simulator.close()


@pytest.mark.parametrize(
    ("accelerator", "dtype"),
    [
        *((name, torch.int8) for name in ("ethos-u55-128", "ethos-u65-512", "ethos-u85-256")),
        *((name, torch.int16) for name in ("ethos-u65-512", "ethos-u85-256")),
    ],
)
@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_each_kind_of_operator(vela: str, accelerator: str, dtype: torch.dtype, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    recorder = Recorder(monkeypatch)
    left = {*GATHERS, *(OF_BYTES if dtype == torch.int16 else ())}
    if "u85" not in accelerator:
        left |= {*LARGER_ONLY, *(PRODUCTS if dtype == torch.int16 else ())}
    layers = QuantizedLayer(3, dtype), QuantizedLayer(29, dtype), QuantizedSum(0, dtype), QuantizedPool(2, dtype)
    calls = QuantizedCalls([*(QuantizedCall(kind, 0, dtype) for kind in CALLS if kind not in left), *layers])
    program = torch.export.export(calls, calls.inputs)
    options = f"accelerator={accelerator} activations={str(dtype).removeprefix('torch.')}"
    edge = to_edge_transform_and_lower(program, partitioner=[f"ethos_u{{{options}}}"])
    assert len(streams(edge)) == 1
    assert {name.partition(".")[0] for name, _ in get_delegation_info(edge).refused} == {"quantized_decomposed"}
    simulator = Simulator(str(Path(vela).with_name("python")))
    assert recorder.differences(simulator, edge, [item.numpy() for item in calls.inputs]) == [0]
    simulator.close()
