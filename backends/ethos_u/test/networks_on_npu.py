"""Compiles quantized networks for an Ethos-U, and runs their command streams in the simulator, beside the numpy of their TOSA graphs.

    PYTHONPATH=test:test/helpers FLAMBEAU_VELA=build/tools/ethos_u/bin/vela \\
      .venv/bin/python backends/ethos_u/test/networks_on_npu.py --accelerator ethos-u55-128

A campaign, outside of the tests. It prints, for each network, the delegates, the share of the arithmetic in them, the bytes of commands and
of weights, and the elements of results that differ. The exit status is 1 if an element differs.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch
from device_models import ds_cnn
from models import mobilenet_v2, resnet18
from rich.console import Console
from rich.table import Table
from simulated import Recorder, Simulator, streams
from torch import Tensor, nn
from torch_programs import seed

from flambeau import get_delegation_info, quantize, to_edge, to_edge_transform_and_lower


class UNet(nn.Module):
    """Two scales of an image, one of them enlarged by a transposed convolution, one by copies of pixels."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second, self.third = nn.Conv2d(3, 8, 3, 1, 1), nn.Conv2d(8, 16, 3, 2, 1), nn.Conv2d(16, 16, 3, 2, 1)
        self.up, self.mixed, self.last = nn.ConvTranspose2d(16, 16, 2, 2), nn.Conv2d(32, 8, 3, 1, 1), nn.Conv2d(16, 2, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Two classes for each pixel."""
        first = torch.relu(self.first(x))
        second = torch.relu(self.second(first))
        third = torch.relu(self.third(second))
        second = torch.relu(self.mixed(torch.cat([torch.relu(self.up(third)), second], 1)))
        return self.last(torch.cat([nn.functional.interpolate(second, scale_factor=2.0), first], 1))


class Letters(nn.Module):
    """Convolutions along time, as wav2letter has them."""

    def __init__(self) -> None:
        super().__init__()
        sizes = [(40, 64, 11, 2), (64, 64, 11, 1), (64, 96, 7, 1), (96, 29, 1, 1)]
        self.layers = nn.ModuleList(nn.Conv1d(a, b, kernel, step, kernel // 2) for a, b, kernel, step in sizes)

    def forward(self, x: Tensor) -> Tensor:
        """The letters [N, 29, T / 2] of features [N, 40, T]."""
        for layer in self.layers[:-1]:
            x = torch.relu(layer(x))
        return self.layers[-1](x)


def _ds_cnn() -> tuple[Any, Any]:
    case = ds_cnn()
    return case.module, case.calls[0]


NETWORKS: Mapping[str, Callable[[], tuple[Any, Any]]] = {
    "ds_cnn": _ds_cnn,
    "u_net": lambda: (UNet(), (torch.randn(1, 3, 64, 64),)),
    "wav2letter": lambda: (Letters(), (torch.randn(1, 40, 64),)),
    "mobilenet_v2": mobilenet_v2,
    "resnet18": resnet18,
}


def main() -> int:
    """Prints a table; 1 if an element of a result differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=list(NETWORKS))
    parser.add_argument("--accelerator", default="ethos-u55-128")
    options = parser.parse_args()
    simulator = Simulator(str(Path(os.environ["FLAMBEAU_VELA"]).absolute().with_name("python")))
    recorder = Recorder(pytest.MonkeyPatch())
    table = Table("network", "delegates", "arithmetic in them", "commands", "weights", "scratch", "elements that differ", "s")
    wrong = 0
    for name in options.networks:
        seed()
        module, inputs = NETWORKS[name]()
        start = time.perf_counter()
        program = quantize((module.eval(), inputs), [inputs] * 2, "int8", f"ethos_u{{accelerator={options.accelerator}}}").program
        ethos_u = to_edge_transform_and_lower(program, partitioner=[f"ethos_u{{accelerator={options.accelerator}}}"])
        whole = sum(row.flops for row in get_delegation_info(to_edge(program)).rows)
        left = sum(row.flops for row in get_delegation_info(ethos_u).rows if row.backend is None)
        graphs = streams(ethos_u)
        sizes = (sum(len(graph.commands) for graph in graphs), sum(len(graph.weights) for graph in graphs), max(g.scratch for g in graphs))
        found = sum(recorder.differences(simulator, ethos_u, [item.numpy() for item in inputs]))
        wrong += found
        table.add_row(name, str(len(graphs)), f"{1 - left / whole:.2%}", *map(str, sizes), str(found), f"{time.perf_counter() - start:.0f}")
    Console().print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
