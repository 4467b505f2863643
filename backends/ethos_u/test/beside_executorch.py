"""Compares the bytes that ExecuTorch's own flow for Ethos-U gets of quantized networks with those of this backend, by the same Vela.

    PYTHONPATH=test:test/helpers .venv/bin/python backends/ethos_u/test/beside_executorch.py --accelerator ethos-u55-128

A campaign, outside of the tests. ExecuTorch's partitioner takes what its own quantizer quantizes, so both flows get the program that this
gives. It needs the Python of the project and the packages of `make vendor-tools`, which are found behind its own. It prints, for each
network, the delegates, and the bytes of commands, weights and scratch of both flows. The exit status is 1 if a network has more than 1.02
times the bytes of commands and weights that ExecuTorch's flow gets, or more delegates.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from device_models import WHOLE
from rich.console import Console
from rich.table import Table
from simulated import streams
from torch_programs import seed

from flambeau import to_edge_transform_and_lower
from flambeau.backends.ethos_u.bin_stream import CompiledGraph, read
from flambeau.runtime.pte import read_program

NETWORKS = ("ds_cnn", "u_net", "wav2letter", "mobilenet_v2", "resnet18")
MOST = 1.02
TOOLS = Path(__file__).parents[3] / "build" / "tools"


def quantized_for(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], spec: Any) -> torch.export.ExportedProgram:
    """Returns a network as ExecuTorch's quantizer for an accelerator writes it."""
    arm, pt2e = import_module("executorch.backends.arm.quantizer"), import_module("torchao.quantization.pt2e.quantize_pt2e")
    quantizer = arm.EthosUQuantizer(spec)
    quantizer.set_global(arm.get_symmetric_quantization_config(is_per_channel=True))
    prepared = pt2e.prepare_pt2e(torch.export.export(module, inputs).module(check_guards=False), quantizer)
    prepared(*inputs)
    return torch.export.export(pt2e.convert_pt2e(prepared), inputs)


def by_executorch(program: torch.export.ExportedProgram, spec: Any) -> list[CompiledGraph]:
    """Returns the payloads that ExecuTorch's own flow makes."""
    exir, arm = import_module("executorch.exir"), import_module("executorch.backends.arm.ethosu")
    config = exir.EdgeCompileConfig(_check_ir_validity=False)
    with redirect_stdout(sys.stderr):
        lowered = exir.to_edge_transform_and_lower(program, partitioner=[arm.EthosUPartitioner(spec)], compile_config=config)
    plans = read_program(bytes(lowered.to_executorch().buffer)).execution_plan
    return [read(memoryview(bytes(item.processed))) for plan in plans for item in plan.delegates]


def sizes_of(graphs: Sequence[CompiledGraph]) -> tuple[int, int, int, int]:
    """Returns the number of payloads, and the bytes of commands, weights and scratch."""
    commands, weights = (sum(len(getattr(graph, name)) for graph in graphs) for name in ("commands", "weights"))
    return len(graphs), commands, weights, max((graph.scratch for graph in graphs), default=0)


def main() -> int:
    """Prints a table; 1 if this backend gets more bytes."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("networks", nargs="*", default=NETWORKS)
    parser.add_argument("--accelerator", default="ethos-u55-128")
    options = parser.parse_args()
    sys.path += [str(next((TOOLS / group / "lib").glob("python3*/site-packages"))) for group in ("tosa-tools", "ethos_u")]
    os.environ.setdefault("FLAMBEAU_VELA", str(TOOLS / "ethos_u" / "bin" / "vela"))
    spec = import_module("executorch.backends.arm.ethosu").EthosUCompileSpec(options.accelerator)
    kinds = ("delegates", "commands", "weights", "scratch")
    table, wrong = Table("network", *kinds, *(f"{kind}, ExecuTorch" for kind in kinds), "share of bytes"), 0
    for name in options.networks:
        seed()
        module, inputs = WHOLE[name]()
        program = quantized_for(module.eval(), inputs, spec)
        theirs = sizes_of(by_executorch(program, spec))
        edge = to_edge_transform_and_lower(program, partitioner=[f"ethos_u{{accelerator={options.accelerator}}}"])
        ours = sizes_of(streams(edge))
        share = (ours[1] + ours[2]) / (theirs[1] + theirs[2])
        wrong += share > MOST or ours[0] > theirs[0]
        table.add_row(name, *map(str, (*ours, *theirs)), f"{share:.4f}")
    Console(width=160).print(table)
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
