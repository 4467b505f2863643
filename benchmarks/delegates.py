"""Compares what Flambeau and ExecuTorch compile for XNNPACK: both programs run in stock ExecuTorch, in turns, in one process.

    python benchmarks/delegates.py mobilenet_v2 minilm
    python benchmarks/delegates.py --json > delegates.json

One core. The ratio of latencies is the median over pairs of calls, of which each program starts every second one.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MAKERS = ("flambeau", "executorch")
ROWS = (
    ("latency, ms (median)", "milliseconds", "{:.3f}"),
    ("lowering, CPU seconds", "lowering_seconds", "{:.2f}"),
    (".pte, bytes", "pte_bytes", "{}"),
    ("delegate calls", "delegate_calls", "{}"),
    ("instructions", "instructions", "{}"),
    ("max difference / scale", "distance", "{:.1e}"),
)


def find_model(name: str) -> tuple[Any, tuple[Any, ...]]:
    """A model and its inputs: of the end-to-end tests, or of those of the backends."""
    sys.path.insert(0, str(ROOT / "test"))
    from models import MODELS

    if name in MODELS:
        return MODELS[name]()
    case = importlib.import_module("device_models").CASES[name]()
    return case.module, case.calls[0]


def compile_ours(program: Any) -> bytes:
    """The program that Flambeau makes of an export."""
    from flambeau.compiler.compilation import Compilation
    from flambeau.dialects.schema.context import FlambeauContext
    from flambeau.frontends.torch_export import import_program
    from flambeau.passes.manager.pipeline_options import PipelineOptions

    context = FlambeauContext()
    return bytes(Compilation(import_program(program, context), context, PipelineOptions(backends=("xnnpack",))).emit())


def compile_theirs(program: Any) -> bytes:
    """The program that ExecuTorch makes of an export."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    return bytes(to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)


COMPILERS: dict[str, Callable[[Any], bytes]] = {"flambeau": compile_ours, "executorch": compile_theirs}


def measure(name: str, folder: Path, pairs: int) -> dict[str, Any]:
    """All figures of one model."""
    import numpy as np
    import torch

    from flambeau.runtime.pte import DelegateCall, read_program

    module, inputs = find_model(name)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    seconds: dict[str, float] = {}
    for maker, compiler in COMPILERS.items():
        compiler(torch.export.export(torch.nn.Linear(4, 4), (torch.ones(1, 4),)))  # what is imported on first use does not count
        with torch.no_grad():
            exported = torch.export.export(module, inputs)
        start = time.process_time()
        data = compiler(exported)
        seconds[maker] = time.process_time() - start
        (folder / f"{maker}.pte").write_bytes(data)
    programs = {maker: read_program((folder / f"{maker}.pte").read_bytes()) for maker in MAKERS}
    instructions = {maker: program.execution_plan[0].chains[0].instructions for maker, program in programs.items()}
    calls = {maker: load(folder / f"{maker}.pte", inputs) for maker in MAKERS}
    distances = {maker: float(np.abs(call() - expected).max() / np.abs(expected).max()) for maker, call in calls.items()}
    times = alternate(calls, pairs)
    return {
        "milliseconds": {maker: statistics.median(values) for maker, values in times.items()},
        "latency_ratio": statistics.median(ours / theirs for ours, theirs in zip(*times.values(), strict=True)),
        "lowering_seconds": seconds,
        "pte_bytes": {maker: (folder / f"{maker}.pte").stat().st_size for maker in MAKERS},
        "delegate_calls": {maker: sum(isinstance(item, DelegateCall) for item in items) for maker, items in instructions.items()},
        "instructions": {maker: len(items) for maker, items in instructions.items()},
        "distance": distances,
    }


def load(path: Path, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    """A function that runs a program in stock ExecuTorch."""
    from executorch.runtime import Runtime

    stock: Any = Runtime
    loaded = stock.get().load_program(path).load_method("forward")
    return lambda: loaded.execute(inputs)[0].numpy()


def alternate(calls: dict[str, Callable[[], Any]], pairs: int) -> dict[str, list[float]]:
    """Milliseconds of so many calls of each, in pairs."""
    times: dict[str, list[float]] = {maker: [] for maker in MAKERS}
    for pair in range(pairs):
        for maker in MAKERS if pair % 2 else reversed(MAKERS):
            start = time.perf_counter()
            calls[maker]()
            times[maker].append((time.perf_counter() - start) * 1e3)
    return times


def child(name: str, pairs: int) -> dict[str, Any]:
    """Measures a model in a new process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TRANSFORMERS_VERBOSITY": "error"}
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, __file__, "--child", name, folder, "--pairs", str(pairs)]
        run = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{name}: the benchmark failed:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares what Flambeau and ExecuTorch compile for XNNPACK.")
    default = ["mobilenet_v2", "mobilenet_v3", "resnet18", "ds_cnn", "deit_tiny", "minilm", "gpt2", "llama", "lstm_classifier"]
    parser.add_argument("models", nargs="*", default=default)
    parser.add_argument("--pairs", type=int, default=60, help="pairs of calls")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON on stdout")
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(measure(arguments.child[0], Path(arguments.child[1]), arguments.pairs)))
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True, highlight=False)
    results: dict[str, Any] = {}
    for name in arguments.models:
        with console.status(name):
            result = results[name] = child(name, arguments.pairs)
        table = Table(name, *MAKERS, "flambeau / executorch", box=None, header_style="bold")
        for label, key, form in ROWS:
            ours, theirs = (result[key][maker] for maker in MAKERS)
            ratio = result["latency_ratio"] if key == "milliseconds" else ours / theirs if key != "distance" else None
            table.add_row(label, form.format(ours), form.format(theirs), "" if ratio is None else f"{ratio:.3f}")
        console.print(table)
    if arguments.json:
        json.dump(results, sys.stdout, indent=2)
        sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
