"""Compares the latency of single operators between Flambeau's and stock ExecuTorch's kernels, which run the same program in turns.

    python benchmarks/operator_shares/operators.py
    FLAMBEAU_LIBRARY=build/c/x86-64-v3/libflambeau.so python benchmarks/operator_shares/operators.py --json

Each figure is a median over runs through the Python bindings and includes their cost; a ratio above 1 means that ExecuTorch is faster.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from time import perf_counter_ns
from typing import Any, cast

import executorch.kernels.quantized  # pyright: ignore[reportUnusedImport] it registers kernels
import executorch.runtime
import torch
from single_operators import Function
from torch import Tensor

from flambeau import to_edge
from flambeau.runtime import Runtime

Case = tuple[Callable[..., Any], tuple[Tensor, ...]]

_quantized = torch.ops.quantized_decomposed


def _quantize(x: Tensor) -> Tensor:
    return cast(Tensor, _quantized.quantize_per_tensor.default(x, 0.05, 3, -128, 127, torch.int8))


def _dequantize(x: Tensor) -> Tensor:
    return cast(Tensor, _quantized.dequantize_per_tensor.default(x, 0.05, 3, -128, 127, torch.int8))


def _rfft(x: Tensor) -> Tensor:
    return torch.view_as_real(cast(Any, torch).fft.rfft(x))


def _cases() -> dict[str, Case]:
    image, wide = torch.randn(1, 64, 112, 112), torch.randn(256, 4096)
    halves = torch.randn(64, 512).half(), torch.randn(512, 512).half()
    return {
        "quantize_per_tensor": (_quantize, (image,)),
        "dequantize_per_tensor": (_dequantize, (_quantize(image),)),
        "mul": (torch.mul, (wide, wide + 1)),
        "mul, last dimension broadcast": (torch.mul, (wide, wide[:, :1] + 1)),
        "mul, first dimension broadcast": (torch.mul, (wide, wide[:1] + 1)),
        "mul, inner dimensions broadcast": (torch.mul, (image, torch.randn(1, 64, 1, 1))),
        "add": (torch.add, (wide, wide + 1)),
        "sigmoid": (torch.sigmoid, (wide,)),
        "mm, float16": (torch.mm, halves),
        **{f"rfft, {size}": (_rfft, (torch.randn(128, size),)) for size in (400, 480, 512, 1000, 1024, 4096)},
    }


def measure(function: Callable[..., Any], inputs: tuple[Tensor, ...], seconds: float) -> tuple[float, float]:
    """Returns the median microseconds of a run of one program in Flambeau's runtime and in ExecuTorch's, in turns for `seconds`."""
    program = to_edge(torch.export.export(Function(function), inputs)).to_executorch().buffer
    ours = Runtime.get().load_program(program).load_method("forward")
    stock = cast(Any, executorch.runtime).Runtime.get().load_program(program).load_method("forward")
    arrays = [item.numpy() for item in inputs]
    runs: tuple[Callable[[], Any], Callable[[], Any]] = (lambda: ours.execute(arrays, copy=False), lambda: stock.execute(inputs))
    times: tuple[list[int], list[int]] = ([], [])
    end = perf_counter_ns() + int(seconds * 1e9)
    turn = 0
    while perf_counter_ns() < end or turn < 10:
        for which in ((0, 1), (1, 0))[turn % 2]:
            start = perf_counter_ns()
            runs[which]()
            times[which].append(perf_counter_ns() - start)
        turn += 1
    return statistics.median(times[0]) / 1e3, statistics.median(times[1]) / 1e3


def main() -> None:
    """Prints a line for each operator, or everything as JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("operators", nargs="*", help="operators whose name begins with this text; all by default")
    parser.add_argument("--seconds", type=float, default=1.0, help="seconds to measure each operator")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    cast(Any, torch).set_num_threads(1)
    found: dict[str, dict[str, float]] = {}
    print(f"{'operator':<34}{'ours, us':>10}{'stock, us':>11}{'ratio':>8}", file=sys.stderr)
    for name, (function, inputs) in _cases().items():
        if options.operators and not name.startswith(tuple(options.operators)):
            continue
        ours, stock = measure(function, inputs, options.seconds)
        found[name] = {"ours_us": ours, "stock_us": stock, "ratio": ours / stock}
        print(f"{name:<34}{ours:>10.1f}{stock:>11.1f}{ours / stock:>8.3f}", file=sys.stderr)
    if options.json:
        print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
