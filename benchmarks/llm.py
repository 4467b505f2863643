"""Compares a language model's prefill and decode: Flambeau, ExecuTorch with XNNPACK, and ONNX Runtime, interleaved in one run.

    python benchmarks/llm.py llama qwen3 --layers 8
    python benchmarks/llm.py --json > llm.json

One core: the process is pinned to it, so every runtime has one thread. Rounds alternate between the runtimes. ONNX Runtime takes part if
`onnxruntime` and `onnxscript` are installed (`make bench` installs them). Its cache tensors are inputs and outputs of the model.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import json
import logging
import os
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples" / "llm"))

PROMPT = 128
"""The number of tokens of the prompt."""
PLACES = (8, 200, 500)
"""The numbers of tokens in the cache at which the decoding of a further token is measured."""


def runtimes() -> list[str]:
    """Returns the names of the compared runtimes.

    `flambeau` and `flambeau_executorch` run Flambeau's programs for the two targets; `same_in_executorch` runs the second program in
    ExecuTorch. `xnnpack` (in ExecuTorch) and `onnxruntime` run programs that other compilers made.
    """
    onnx = all(importlib.util.find_spec(name) for name in ("onnxruntime", "onnxscript"))
    return ["flambeau", "flambeau_executorch", "same_in_executorch", "xnnpack", *(["onnxruntime"] if onnx else [])]


def build(family: str, layers: int, folder: Path) -> dict[str, Any]:
    """Compiles a model for each runtime and writes the programs to `folder`. Returns their sizes in bytes."""
    import torch
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from language_model import Sizes, export_methods, make_model

    import flambeau

    functions: Any = torch
    functions.manual_seed(0)
    sizes = Sizes(layers=layers)
    model = make_model(family, sizes)
    for target, name in (("flambeau", "flambeau"), ("executorch", "flambeau_executorch")):
        config = flambeau.EdgeCompileConfig(target=target)
        flambeau.to_edge(export_methods(model, sizes), compile_config=config).to_executorch().save(folder / f"{name}.pte")
    peer: Any = to_edge_transform_and_lower(export_methods(model, sizes), partitioner=[XnnpackPartitioner()])
    (folder / "xnnpack.pte").write_bytes(peer.to_executorch().buffer)
    if "onnxruntime" in runtimes():
        export_onnx(model, sizes, folder)
    found = {path.stem: path.stat().st_size for path in folder.glob("*.pte")}
    onnx = [path.stat().st_size for path in folder.glob("decode.onnx*")]
    return {"bytes": found | ({"onnxruntime": sum(onnx)} if onnx else {})}


def export_onnx(model: Any, sizes: Any, folder: Path) -> None:
    """Writes the two methods as ONNX models whose caches are inputs and outputs."""
    import torch
    from language_model import CachedModel

    class Stateless(torch.nn.Module):
        """The model with its cache as inputs and outputs."""

        def __init__(self) -> None:
            super().__init__()
            self.cached = CachedModel(model, sizes.context)
            self.names = [name for name, _ in self.cached.named_buffers(recurse=False)]

        def forward(self, tokens: torch.Tensor, position: torch.Tensor, *caches: torch.Tensor) -> tuple[torch.Tensor, ...]:
            """Returns the logits and the new caches."""
            new: dict[str, torch.Tensor] = {name: cache.clone() for name, cache in zip(self.names, caches, strict=True)}
            logits = torch.func.functional_call(self.cached, new, (tokens, position))
            return (logits, *new.values())

    module = Stateless()
    caches = [torch.zeros_like(module.cached.get_buffer(name)) for name in module.names]
    for method, count in (("prefill", PROMPT), ("decode", 1)):
        inputs = (torch.ones(1, count, dtype=torch.int64), torch.tensor([0]), *caches)
        names = ["tokens", "position", *(f"in_{name}" for name in module.names)]
        outputs = ["logits", *(f"out_{name}" for name in module.names)]
        exporter: Any = torch.onnx
        with torch.no_grad():
            exported = torch.export.export(module, inputs, strict=False)
            exporter.export(
                exported, inputs, folder / f"{method}.onnx", input_names=names, output_names=outputs, dynamo=True, verbose=False
            )


def load(runtime: str, folder: Path) -> Callable[[str, Any, Any], Any]:
    """Loads the programs of a runtime. Returns a function that takes the name of a method, tokens and a position, and returns logits."""
    import numpy as np

    if runtime == "onnxruntime":
        library: Any = importlib.import_module("onnxruntime")
        options = library.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        sessions = {name: library.InferenceSession(folder / f"{name}.onnx", options) for name in ("prefill", "decode")}
        state = {item.name: np.zeros(item.shape, np.float32) for item in sessions["decode"].get_inputs()[2:]}

        def run(method: str, tokens: Any, position: Any) -> Any:
            names = list(state)
            logits, *caches = sessions[method].run(None, {"tokens": tokens, "position": position, **state})
            state.update(zip(names, caches, strict=True))
            return logits

        return run
    path = folder / f"{'flambeau_executorch' if runtime == 'same_in_executorch' else runtime}.pte"
    if runtime.startswith("flambeau"):
        from flambeau.runtime import Runtime

        program = Runtime.get().load_program(path)
        methods = {name: program.load_method(name) for name in ("prefill", "decode")}
        return lambda method, tokens, position: methods[method].execute([tokens, position])[0]
    import torch
    from executorch.runtime import Runtime as StockRuntime

    stock: Any = StockRuntime
    loaded = stock.get().load_program(path)
    theirs = {name: loaded.load_method(name) for name in ("prefill", "decode")}
    return lambda method, tokens, position: theirs[method].execute((torch.as_tensor(tokens), torch.as_tensor(position)))[0].numpy()


def measure(folder: Path, rounds: int) -> dict[str, Any]:
    """Runs each case on the runtimes in turn, in some rounds. Returns the milliseconds of each runtime, and the distance of its logits.

    The distance is the largest difference from Flambeau's logits after the prompt, relative to their largest absolute value.
    """
    import numpy as np

    tokens = np.random.default_rng(0).integers(3, 8000, (1, PROMPT))
    calls = {runtime: load(runtime, folder) for runtime in runtimes()}
    cases = {"prefill": ("prefill", tokens, 0)} | {f"decode at {place}": ("decode", tokens[:, :1], place) for place in PLACES}
    times = {case: {runtime: list[float]() for runtime in calls} for case in cases}
    logits = {runtime: call("prefill", tokens, np.array([0])) for runtime, call in calls.items()}
    first = logits["flambeau"]
    distances = {name: float(np.abs(found - first).max() / np.abs(first).max()) for name, found in logits.items()}
    for _ in range(rounds):
        for case, (method, given, place) in cases.items():
            for runtime, call in calls.items():
                end = time.perf_counter() + 0.3
                while True:
                    start = time.perf_counter()
                    call(method, given, np.array([place]))
                    now = time.perf_counter()
                    times[case][runtime].append((now - start) * 1e3)
                    if now >= end:
                        break
    medians = {case: {name: statistics.median(values) for name, values in found.items()} for case, found in times.items()}
    least = {case: {name: min(values) for name, values in found.items()} for case, found in times.items()}
    return {"milliseconds_median": medians, "milliseconds_least": least, "distance": distances}


def child(*arguments: str) -> dict[str, Any]:
    """Runs one step of this script in a new process and reads its JSON."""
    environment = os.environ | {"OMP_NUM_THREADS": "1", "TRANSFORMERS_VERBOSITY": "error"}
    run = subprocess.run([sys.executable, __file__, "--child", *arguments], capture_output=True, text=True, env=environment, check=False)
    if run.returncode != 0:
        raise RuntimeError(f"benchmark step {' '.join(arguments)} failed:\n{run.stderr[-2000:]}")
    return json.loads(run.stdout.splitlines()[-1])


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares the latency of a language model's prefill and decode.")
    parser.add_argument("families", nargs="*", default=["llama", "qwen3"])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=4, help="rounds of 0.3 seconds for each runtime and case")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON on stdout")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        step, name, folder = arguments.child
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        logging.disable(logging.WARNING)
        warnings.simplefilter("ignore")
        family, _, count = name.partition(":")
        print(json.dumps(build(family, int(count), Path(folder)) if step == "build" else measure(Path(folder), int(name))))
        return 0
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True, highlight=False, width=150)
    results: dict[str, Any] = {}
    for family in arguments.families:
        with tempfile.TemporaryDirectory() as folder, console.status(f"{family}: compiling") as status:
            result = child("build", f"{family}:{arguments.layers}", folder)
            status.update(f"{family}: running")
            results[family] = result | child("measure", str(arguments.rounds), folder)
    if arguments.json:
        json.dump(results, sys.stdout, indent=2)
        sys.stdout.write("\n")
    compared = runtimes()
    for family, result in results.items():
        table = Table(family, *compared, *(f"{name} / ours" for name in compared[3:]), box=None, header_style="bold")
        for kind in ("median", "least"):
            for case, values in result[f"milliseconds_{kind}"].items():
                ratios = [f"{values[name] / values['flambeau']:.2f}" for name in compared[3:]]
                table.add_row(f"{case}, ms ({kind})", *(f"{values[name]:.2f}" for name in compared), *ratios)
        table.add_row("max difference / scale", *(f"{result['distance'][name]:.1e}" for name in compared))
        table.add_row("bytes", *(str(result["bytes"].get(name, "")) for name in compared))
        console.print(table)
    return 0


if __name__ == "__main__":
    sys.exit(main())
