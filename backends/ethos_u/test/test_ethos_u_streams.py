"""Command streams in the simulator: bit for bit what the numpy of their TOSA graphs gives, for each kind of operator."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from quantized_calls import CALLS, QuantizedCall
from quantized_layers import QuantizedLayer, QuantizedPool, QuantizedSum
from quantized_programs import ops
from simulated import Recorder, Simulator, streams
from torch import Tensor, nn
from vendor_tools import installed

from flambeau import get_delegation_info, to_edge_transform_and_lower

LARGER_ONLY = "transposed convolution|nearest pixels|four pixels|reversal|softmax|log_softmax|layer_norm|group_norm|amin".split("|")
"""What Ethos-U55 and U65 do not take, as it is drawn here."""
GATHERS = ("places", "rows")
"""What Ethos-U85 alone takes, by transfers that the simulator does not have."""
AS_THEY_ARE = 1.0, 0, -128, 127, torch.int8


class Calls(nn.Module):
    """Calls and layers, whose integers are put in one row as they are, so that all are one command stream."""

    def __init__(self, parts: list[QuantizedCall | QuantizedLayer | QuantizedSum | QuantizedPool]):
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.inputs = tuple(item for part in parts for item in part.inputs)
        self.counts = [len(part.inputs) for part in parts]
        self.kinds = [
            (part.output_scale, part.output_zero_point if isinstance(part, QuantizedCall) else part.zero_points[-1], -128, 127, torch.int8)
            for part in parts
        ]

    def forward(self, *inputs: Tensor) -> Tensor:
        """The integers of all results, as floats."""
        rest, rows = iter(inputs), list[Tensor]()
        for part, count, kind in zip(self.parts, self.counts, self.kinds, strict=True):
            integers = ops.quantize_per_tensor(part(*(next(rest) for _ in range(count))), *kind)
            rows.append(ops.dequantize_per_tensor(integers, *AS_THEY_ARE).flatten())
        return ops.dequantize_per_tensor(ops.quantize_per_tensor(torch.cat(rows), *AS_THEY_ARE), *AS_THEY_ARE)


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
    calls = Calls([*(QuantizedCall(kind, 0) for kind in kinds), QuantizedLayer(3), QuantizedLayer(29), QuantizedSum(0), QuantizedPool(2)])
    program = torch.export.export(calls, calls.inputs)
    edge = to_edge_transform_and_lower(program, partitioner=[f"ethos_u{{accelerator={accelerator}}}"])
    assert len(streams(edge)) == 1
    assert {name.partition(".")[0] for name, _ in get_delegation_info(edge).refused} == {"quantized_decomposed"}
    simulator = Simulator(str(Path(vela).with_name("python")))
    assert recorder.differences(simulator, edge, [item.numpy() for item in calls.inputs]) == [0]
    simulator.close()
