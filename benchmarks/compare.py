"""Compares Flambeau with stock ExecuTorch, portable and with XNNPACK: latency, compile time, size and memory, interleaved in one run.

    python benchmarks/compare.py mobilenet_v2 minilm
    python benchmarks/compare.py mobilenet_v2 minilm deit_tiny --json > benchmarks/latency.json  # what latency_chart.py draws

One core: the processes are pinned to it, so every runtime has one thread. Rounds alternate between the runtimes.
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
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RUNTIMES = ("flambeau", "flambeau_dynamic", "flambeau_executorch", "portable", "xnnpack")
"""Flambeau for the target `flambeau`, the same with a batch of up to 4 that only the run knows, Flambeau for the target `executorch`, and
ExecuTorch without and with its delegate."""
PEERS = {"dynamic": "flambeau_dynamic", "portable": "portable", "xnnpack": "xnnpack"}
"""The columns of ratios to the first."""


def build(name: str, folder: Path) -> dict[str, Any]:
    """Exports a model once, compiles it for each runtime, and writes the programs and inputs to `folder`. Returns seconds and sizes."""
    sys.path.insert(0, str(ROOT / "test"))
    import numpy as np
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge, to_edge_transform_and_lower
    from models import MODELS

    from flambeau.compiler.compilation import Compilation
    from flambeau.dialects.schema.context import FlambeauContext
    from flambeau.frontends.torch_export import import_program
    from flambeau.passes.manager.pipeline_options import PipelineOptions

    module, inputs = MODELS[name]()
    with torch.no_grad():
        expected = module(*inputs).numpy()
    np.savez(folder / "inputs.npz", *[tensor.numpy() for tensor in inputs])
    np.save(folder / "expected.npy", expected)

    def export(runtime: str) -> Any:
        with torch.no_grad():
            if runtime != "flambeau_dynamic":
                return torch.export.export(module, inputs)
            # PyTorch treats a size of 1 as a constant.
            pairs = tuple(torch.cat([tensor, tensor]) for tensor in inputs)
            batch = torch.export.Dim("batch", min=1, max=4)
            shapes: Any = torch.export.ShapesCollection()
            for tensor in pairs:
                shapes[tensor] = {0: batch}
            return torch.export.export(module, pairs, dynamic_shapes=shapes)

    def ours(target: str) -> Callable[[Any], bytes]:
        def compile_program(program: Any) -> bytes:
            context = FlambeauContext()
            return Compilation(import_program(program, context), context, PipelineOptions(target=target)).emit()

        return compile_program

    compilers: dict[str, Callable[[Any], bytes]] = {
        "flambeau": ours("flambeau"),
        "flambeau_dynamic": ours("flambeau"),
        "flambeau_executorch": ours("executorch"),
        "portable": lambda program: bytes(to_edge(program).to_executorch().buffer),
        "xnnpack": lambda program: bytes(to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer),
    }
    seconds: dict[str, list[float]] = {runtime: [] for runtime in RUNTIMES}
    sizes: dict[str, int] = {}
    # The first round includes imports on first use, so the minimum over the rounds counts.
    for _ in range(2):
        for runtime in RUNTIMES:
            program = export(runtime)
            start = time.perf_counter()
            data = compilers[runtime](program)
            seconds[runtime].append(time.perf_counter() - start)
            (folder / f"{runtime}.pte").write_bytes(data)
            sizes[runtime] = len(data)
    return {"compile_seconds": {key: min(values) for key, values in seconds.items()}, "pte_bytes": sizes}


def load(runtime: str, folder: Path) -> Callable[[], Any]:
    """Returns a function that runs the program on the stored inputs."""
    import numpy as np

    stored = np.load(folder / "inputs.npz")
    arrays = [stored[key] for key in stored.files]
    path = folder / f"{runtime}.pte"
    if runtime.startswith("flambeau"):
        from flambeau.runtime import Runtime

        method = Runtime.get().load_program(path).load_method("forward")
        return lambda: method.execute(arrays)[0]
    import torch
    from executorch.runtime import Runtime as StockRuntime

    stock: Any = StockRuntime
    loaded = stock.get().load_program(path).load_method("forward")
    tensors = tuple(torch.as_tensor(array) for array in arrays)
    return lambda: loaded.execute(tensors)[0].numpy()


def measure_latency(folder: Path, rounds: int) -> dict[str, Any]:
    """Returns the milliseconds of each runtime, in interleaved rounds, and the distance between its output and PyTorch's output."""
    import numpy as np

    expected = np.load(folder / "expected.npy")
    calls = {runtime: load(runtime, folder) for runtime in RUNTIMES}
    distances = {name: float(np.abs(call() - expected).max() / np.abs(expected).max()) for name, call in calls.items()}
    times: dict[str, list[float]] = {runtime: [] for runtime in RUNTIMES}
    for _ in range(rounds):
        for name, call in calls.items():
            # Half a second each round, and at least one call.
            end = time.perf_counter() + 0.5
            while True:
                start = time.perf_counter()
                call()
                now = time.perf_counter()
                times[name].append((now - start) * 1e3)
                if now >= end:
                    break
    return {
        "milliseconds_least": {name: min(values) for name, values in times.items()},
        "milliseconds_median": {name: statistics.median(values) for name, values in times.items()},
        "distance": distances,
    }


def measure_memory(runtime: str, folder: Path) -> dict[str, Any]:
    """Returns the peak resident kilobytes of this process before it loads the program and after it ran the program."""
    # The first figure includes the runtime and numpy, which torch imports and Flambeau loads at its first use.
    for library in ("numpy", "flambeau.runtime.binding") if runtime.startswith("flambeau") else ("numpy", "torch", "executorch.runtime"):
        importlib.import_module(library)
    before = peak_resident()
    call = load(runtime, folder)
    call()
    call()
    peak = peak_resident()
    return {"peak": peak, "growth": peak - before}


def peak_resident() -> int:
    """Returns the peak resident kilobytes of this process; `ru_maxrss` would include the peak inherited from the parent process."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1])
    raise RuntimeError("this system does not tell a process's peak memory in /proc/self/status")


def arenas(folder: Path) -> dict[str, int]:
    """Returns the bytes of planned memory in each program."""
    from flambeau.runtime.pte import read_program

    programs = {runtime: read_program((folder / f"{runtime}.pte").read_bytes()) for runtime in RUNTIMES}
    return {runtime: sum(program.execution_plan[0].non_const_buffer_sizes) for runtime, program in programs.items()}


def child(*arguments: str) -> dict[str, Any]:
    """Runs one step of this script in a new process and reads its JSON."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TRANSFORMERS_VERBOSITY": "error"}
    run = subprocess.run([sys.executable, __file__, "--child", *arguments], capture_output=True, text=True, env=environment, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"benchmark step {' '.join(arguments)} failed:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def run_child(arguments: Sequence[str]) -> None:
    """Runs one step on one core."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    step, name, folder = arguments[0], arguments[1], Path(arguments[2])
    match step:
        case "build":
            result = build(name, folder)
        case "latency":
            result = measure_latency(folder, int(name))
        case _:
            result = measure_memory(name, folder)
    print(json.dumps(result))


def compare(name: str, rounds: int, say: Callable[[str], None]) -> dict[str, Any]:
    """Returns all figures of one model."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        say(f"{name}: compiling")
        result = child("build", name, temporary)
        result["arena_bytes"] = arenas(folder)
        say(f"{name}: running")
        result |= child("latency", str(rounds), temporary)
        say(f"{name}: measuring memory")
        memory = {runtime: child("memory", runtime, temporary) for runtime in RUNTIMES}
        result["peak_rss_kilobytes"] = {runtime: figures["peak"] for runtime, figures in memory.items()}
        result["rss_growth_kilobytes"] = {runtime: figures["growth"] for runtime, figures in memory.items()}
    return result


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares Flambeau with stock ExecuTorch.")
    parser.add_argument("models", nargs="*", default=["mobilenet_v2", "minilm"])
    parser.add_argument("--rounds", type=int, default=4, help="rounds of half a second for each runtime")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON on stdout")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        run_child(arguments.child)
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True, highlight=False)
    results: dict[str, Any] = {}
    for name in arguments.models:
        with console.status(name) as status:
            results[name] = compare(name, arguments.rounds, status.update)
    if arguments.json:
        from flambeau.tools.profiling.machine import machine_name

        recorded = {"machine": machine_name(), "date": str(date.today()), "models": results}
        json.dump(recorded, sys.stdout, indent=2)
        sys.stdout.write("\n")
    rows = (
        ("latency, ms (least)", "milliseconds_least", "{:.2f}"),
        ("latency, ms (median)", "milliseconds_median", "{:.2f}"),
        ("compile, s", "compile_seconds", "{:.2f}"),
        (".pte, bytes", "pte_bytes", "{}"),
        ("arena, bytes", "arena_bytes", "{}"),
        ("peak RSS, kB", "peak_rss_kilobytes", "{}"),
        ("RSS growth, kB", "rss_growth_kilobytes", "{}"),
        ("max difference / scale", "distance", "{:.1e}"),
    )
    for name, result in results.items():
        table = Table(name, *RUNTIMES, *(f"{peer} / ours" for peer in PEERS), box=None, header_style="bold")
        for label, key, form in rows:
            values = result[key]
            ratios = [f"{values[peer] / values['flambeau']:.2f}" if values["flambeau"] else "" for peer in PEERS.values()]
            table.add_row(
                label, *[form.format(values[runtime]) for runtime in RUNTIMES], *(ratios if key != "distance" else [""] * len(ratios))
            )
        console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
