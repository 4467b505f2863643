"""Compares models that PyTorch quantized to int8 with their floats, and with what ExecuTorch's XNNPACK makes of the same int8, in turns.

    python benchmarks/quantized.py mobilenet_v2
    python benchmarks/quantized.py --json > quantized.json

PT2E with ExecuTorch's XNNPACKQuantizer: static, a scale for each output channel. One core. Each ratio is the median over rounds, which
call every program once.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
from typing import Any

from delegates import alternate, child, compile_executorch, compile_ours, find_model, run_ours, run_stock

MODELS = ("mobilenet_v2", "resnet18", "ds_cnn")
COLUMNS = ("float", "int8", "executorch")
"""Flambeau's program of the floats, that of the int8, and ExecuTorch's of the int8 with XNNPACK."""


def quantized(module: Any, inputs: tuple[Any, ...]) -> Any:
    """The export of a module, as users of ExecuTorch quantize it. The inputs themselves calibrate it."""
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
    prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), inputs)


def measure(name: str, rounds: int) -> dict[str, Any]:
    """All figures of one model."""
    import numpy as np
    import torch

    module, inputs = find_model(name)
    with torch.no_grad():
        floats = torch.export.export(module, inputs)
        integers = quantized(module, inputs)
        expected = integers.module()(*inputs).numpy()
    ours = {key: compile_ours(program, target="flambeau") for key, program in (("float", floats), ("int8", integers))}
    programs = ours | {"executorch": compile_executorch(integers)}
    calls = {key: (run_stock if key == "executorch" else run_ours)(program, inputs) for key, program in programs.items()}
    times = alternate(calls, rounds)
    return {
        "milliseconds": {key: statistics.median(values) for key, values in times.items()},
        "int8 / float": statistics.median(ours / theirs for ours, theirs in zip(times["int8"], times["float"], strict=True)),
        "int8 / executorch": statistics.median(ours / theirs for ours, theirs in zip(times["int8"], times["executorch"], strict=True)),
        "pte_bytes": {key: len(program) for key, program in programs.items()},
        "distance": {key: float(np.abs(calls[key]() - expected).max() / np.abs(expected).max()) for key in COLUMNS},
    }


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares models in int8 with their floats and with ExecuTorch's XNNPACK.")
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--rounds", type=int, default=60, help="rounds of calls")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON on stdout")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(measure(arguments.models[0], arguments.rounds)))
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True, highlight=False)
    results: dict[str, Any] = {}
    for name in arguments.models:
        with console.status(name):
            result = results[name] = child(__file__, name, "--rounds", str(arguments.rounds))
        table = Table(name, *COLUMNS, "int8 / float", "int8 / executorch", box=None, header_style="bold")
        size, ratios = result["pte_bytes"], [f"{result[key]:.3f}" for key in ("int8 / float", "int8 / executorch")]
        table.add_row("latency, ms (median)", *(f"{result['milliseconds'][key]:.3f}" for key in COLUMNS), *ratios)
        sizes = [f"{size['int8'] / size[key]:.3f}" for key in ("float", "executorch")]
        table.add_row(".pte, bytes", *(str(size[key]) for key in COLUMNS), *sizes)
        table.add_row("max difference to PyTorch's int8 / scale", *(f"{result['distance'][key]:.1e}" for key in COLUMNS))
        console.print(table)
    if arguments.json:
        json.dump(results, sys.stdout, indent=2)
        sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
