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
from pathlib import Path

import pytest
from device_models import WHOLE
from rich.console import Console
from rich.table import Table
from simulated import Recorder, Simulator, streams
from torch_programs import seed

from flambeau import get_delegation_info, quantize, to_edge, to_edge_transform_and_lower

NETWORKS = ("ds_cnn", "u_net", "wav2letter", "mobilenet_v2", "mobilenet_v3", "resnet18")


def main() -> int:
    """Prints a table; 1 if an element of a result differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--accelerator", default="ethos-u55-128")
    parser.add_argument("--activations", default="int8")
    options = parser.parse_args()
    simulator = Simulator(str(Path(os.environ["FLAMBEAU_VELA"]).absolute().with_name("python")))
    backend = f"ethos_u{{accelerator={options.accelerator} activations={options.activations}}}"
    recorder = Recorder(pytest.MonkeyPatch())
    table = Table("network", "delegates", "arithmetic in them", "commands", "weights", "scratch", "elements that differ", "s")
    wrong = 0
    for name in options.networks:
        seed()
        module, inputs = WHOLE[name]()
        start = time.perf_counter()
        program = quantize((module.eval(), inputs), [inputs] * 2, "int8", backend).program
        ethos_u = to_edge_transform_and_lower(program, partitioner=[backend])
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
