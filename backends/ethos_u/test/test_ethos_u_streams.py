"""Command streams in the simulator: bit for bit what the numpy of their TOSA graphs gives, for each kind of operator."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from quantized_calls import CALLS, QuantizedCall, QuantizedCalls
from quantized_layers import QuantizedLayer, QuantizedPool, QuantizedSum
from simulated import Recorder, Simulator, streams
from vendor_tools import installed

from flambeau import get_delegation_info, to_edge_transform_and_lower

LARGER_ONLY = "transposed convolution|nearest pixels|four pixels|reversal|softmax|log_softmax|layer_norm|group_norm|amin".split("|")
"""What Ethos-U55 and U65 do not take, as it is drawn here."""
GATHERS = ("places", "rows")
"""What Ethos-U85 alone takes, by transfers that the simulator does not have."""


@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_minima_that_vela_computes_wrongly_stay(vela: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    call = QuantizedCall("amin", 0)
    edge = to_edge_transform_and_lower(torch.export.export(call, call.inputs), partitioner=["ethos_u"])
    assert any("Vela computes REDUCE_MIN wrongly" in reason for _, reason in get_delegation_info(edge).refused)


@pytest.mark.parametrize("accelerator", ["ethos-u55-128", "ethos-u65-512", "ethos-u85-256"])
@pytest.mark.parametrize("vela", installed("ethos_u", "vela"))
def test_each_kind_of_operator(vela: str, accelerator: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("FLAMBEAU_VELA", vela)
    recorder = Recorder(monkeypatch)
    kinds = [kind for kind in CALLS if kind not in (GATHERS if "u85" in accelerator else (*GATHERS, *LARGER_ONLY))]
    calls = QuantizedCalls(
        [*(QuantizedCall(kind, 0) for kind in kinds), QuantizedLayer(3), QuantizedLayer(29), QuantizedSum(0), QuantizedPool(2)]
    )
    program = torch.export.export(calls, calls.inputs)
    edge = to_edge_transform_and_lower(program, partitioner=[f"ethos_u{{accelerator={accelerator}}}"])
    assert len(streams(edge)) == 1
    assert {name.partition(".")[0] for name, _ in get_delegation_info(edge).refused} == {"quantized_decomposed"}
    simulator = Simulator(str(Path(vela).with_name("python")))
    assert recorder.differences(simulator, edge, [item.numpy() for item in calls.inputs]) == [0]
    simulator.close()
