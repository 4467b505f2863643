"""Compares a backend's program for a model with the program of the library's own compiler, in turns, in one process.

    python benchmarks/delegates.py mobilenet_v2 minilm
    python benchmarks/delegates.py --backend openvino
    python benchmarks/delegates.py --json > delegates.json

XNNPACK: the programs of Flambeau and of ExecuTorch, both in stock ExecuTorch. OpenVINO: the program of Flambeau in its C runtime, and
OpenVINO's own model of the same export, both in float32 with one thread, called from Python with the same arrays.

Both run on one core. The ratio of latencies is the median over pairs of calls; the two programs take turns in starting a pair.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = ("mobilenet_v2", "mobilenet_v3", "resnet18", "ds_cnn", "deit_tiny", "minilm", "gpt2", "llama", "lstm_classifier")
ROWS = (
    ("latency, ms (median)", "milliseconds", "{:.3f}"),
    ("lowering, CPU seconds", "lowering_seconds", "{:.2f}"),
    (".pte, bytes", "pte_bytes", "{}"),
    ("delegate calls", "delegate_calls", "{}"),
    ("instructions", "instructions", "{}"),
    ("max difference / scale", "distance", "{:.1e}"),
)


def find_model(name: str) -> tuple[Any, tuple[Any, ...]]:
    """Returns a model and its inputs, from the end-to-end tests or those of the backends."""
    sys.path.insert(0, str(ROOT / "test"))
    from models import MODELS

    if name in MODELS:
        return MODELS[name]()
    case = importlib.import_module("device_models").CASES[name]()
    return case.module, case.calls[0]


def compile_ours(program: Any, *backends: str, target: str = "executorch") -> bytes:
    """Returns Flambeau's program for an export."""
    from flambeau.compiler.compilation import Compilation
    from flambeau.dialects.schema.context import FlambeauContext
    from flambeau.frontends.torch_export import import_program
    from flambeau.passes.delegation.partitioner import partitioners
    from flambeau.passes.manager.pipeline_options import PipelineOptions

    context = FlambeauContext()
    options = PipelineOptions(target=target, backends=partitioners(*backends))
    return bytes(Compilation(import_program(program, context), context, options).emit())


def compile_executorch(program: Any) -> bytes:
    """Returns ExecuTorch's program for an export."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    return bytes(to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)


def compile_openvino(program: Any) -> Any:
    """Returns OpenVINO's model for an export."""
    from flambeau.backends.openvino.compiled import import_openvino

    openvino = import_openvino()
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": "1", "PERFORMANCE_HINT": "LATENCY"}
    return openvino.Core().compile_model(openvino.convert_model(program), "CPU", settings)


def run_stock(program: Any, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    """Returns a function that runs a program in stock ExecuTorch."""
    from executorch.runtime import Runtime

    stock: Any = Runtime
    held = stock.get().load_program(program)
    method = held.load_method("forward")  # the method reads bytes that its program owns
    return lambda _held=held: method.execute(inputs)[0].numpy()


def run_ours(program: Any, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    """Returns a function that runs `forward` of a compiled program in our runtime, and returns its first result."""
    import numpy as np

    from flambeau.runtime import Runtime

    method, arrays = Runtime.get().load_program(program).load_method("forward"), [tensor.numpy() for tensor in inputs]
    return lambda: np.asarray(method.execute(arrays)[0])


def run_openvino(program: Any, inputs: tuple[Any, ...]) -> Callable[[], Any]:
    """Returns a function that runs a model of OpenVINO."""
    request, arrays = program.create_infer_request(), [tensor.numpy() for tensor in inputs]
    return lambda: request.infer(arrays, share_inputs=True, share_outputs=True)[0]


Maker = tuple[Callable[[Any], Any], Callable[[Any, tuple[Any, ...]], Callable[[], Any]]]
MAKERS: dict[str, dict[str, Maker]] = {
    "xnnpack": {
        "flambeau": (lambda program: compile_ours(program, "xnnpack"), run_stock),
        "executorch": (compile_executorch, run_stock),
    },
    "openvino": {
        "flambeau": (lambda program: compile_ours(program, "openvino"), run_ours),
        "openvino": (compile_openvino, run_openvino),
    },
}
"""By backend: a function that compiles an export, and one that makes the result callable."""


def measure(name: str, backend: str, pairs: int) -> dict[str, Any]:
    """Returns all figures of one model."""
    import numpy as np
    import torch

    from flambeau.runtime.pte import DelegateCall, read_program

    module, inputs = find_model(name)
    with torch.no_grad():
        expected = module(*inputs).numpy()
    result: dict[str, dict[str, Any]] = {key: {} for _, key, _ in ROWS}
    calls: dict[str, Callable[[], Any]] = {}
    for maker, (compiler, run) in MAKERS[backend].items():
        compiler(torch.export.export(torch.nn.Linear(4, 4), (torch.ones(1, 4),)))  # imports on first use do not count
        with torch.no_grad():
            exported = torch.export.export(module, inputs)
        start = time.process_time()
        program = compiler(exported)
        result["lowering_seconds"][maker] = time.process_time() - start
        calls[maker] = run(program, inputs)
        result["distance"][maker] = float(np.abs(calls[maker]() - expected).max() / np.abs(expected).max())
        if isinstance(program, bytes):
            instructions = read_program(program).execution_plan[0].chains[0].instructions
            result["pte_bytes"][maker] = len(program)
            result["delegate_calls"][maker] = sum(isinstance(item, DelegateCall) for item in instructions)
            result["instructions"][maker] = len(instructions)
    times = alternate(calls, pairs)
    result["milliseconds"] = {maker: statistics.median(values) for maker, values in times.items()}
    return result | {"latency_ratio": statistics.median(ours / theirs for ours, theirs in zip(*times.values(), strict=True))}


def alternate(calls: dict[str, Callable[[], Any]], pairs: int) -> dict[str, list[float]]:
    """Returns the milliseconds of `calls` calls of each function, in rounds whose order alternates."""
    times: dict[str, list[float]] = {maker: [] for maker in calls}
    for pair in range(pairs):
        for maker in calls if pair % 2 else reversed(calls):
            start = time.perf_counter()
            calls[maker]()
            times[maker].append((time.perf_counter() - start) * 1e3)
    return times


def child(script: str, *arguments: str) -> dict[str, Any]:
    """Returns the output of a script that measures a model in a new process."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TRANSFORMERS_VERBOSITY": "error"}
    run = subprocess.run([sys.executable, script, *arguments, "--child"], capture_output=True, text=True, env=environment, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"{' '.join(arguments)}: the benchmark failed with {run.returncode}:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def compare(
    script: str,
    parser: argparse.ArgumentParser,
    models: Sequence[str],
    measure: Callable[..., dict[str, Any]],
    rows: Callable[[dict[str, Any]], Iterable[Sequence[str]]],
) -> int:
    """Measures each model in a process of its own, and prints its table, of which `rows` has the heading first; returns the exit status."""
    parser.add_argument("models", nargs="*", default=models)
    parser.add_argument("--json", action="store_true", help="print all figures as JSON on stdout")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = vars(parser.parse_args())
    names, is_json, is_child = (options.pop(name) for name in ("models", "json", "child"))
    if is_child:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        print(json.dumps(measure(names[0], **options)))
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True, highlight=False)
    results: dict[str, Any] = {}
    for name in names:
        with console.status(name):
            results[name] = child(script, name, *(f"--{option}={value}" for option, value in options.items()))
        heading, *others = rows(results[name])
        table = Table(name, *heading, box=None, header_style="bold")
        for row in others:
            table.add_row(*row)
        console.print(table)
    if is_json:
        json.dump(results, sys.stdout, indent=2)
        sys.stdout.write("\n")
    return 0


def rows(result: dict[str, Any]) -> Iterator[Sequence[str]]:
    """Yields the table of a model."""
    makers = list(result["milliseconds"])
    yield *makers, " / ".join(makers)
    for label, key, form in ROWS:
        found = [result[key].get(maker) for maker in makers]
        ratio = result["latency_ratio"] if key == "milliseconds" else found[0] / found[1] if key != "distance" and all(found) else None
        yield label, *("" if one is None else form.format(one) for one in found), "" if ratio is None else f"{ratio:.3f}"


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares a backend's programs with the programs of its library's own compiler.")
    parser.add_argument("--backend", choices=sorted(MAKERS), default="xnnpack")
    parser.add_argument("--pairs", type=int, default=60, help="pairs of calls")
    return compare(__file__, parser, MODELS, measure, rows)


if __name__ == "__main__":
    sys.exit(main())
