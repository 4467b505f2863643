"""Compares Flambeau's ONNX file of a model with that of torch.onnx.export, in turns, in one process with ONNX Runtime.

    python -m pip install --group bench --group onnxruntime-test
    python benchmarks/onnx_files.py
    python benchmarks/onnx_files.py ds_cnn --json > files.json

Both make a file of the same exported program, and both files pass onnx.checker's full check. They run on one thread; the ratio of latencies
is the median over pairs of calls, which take turns in starting. Ratios are Flambeau's number divided by PyTorch's.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = "mobilenet_v2 mobilenet_v3 resnet18 ds_cnn u_net minilm gru wav2letter deit_tiny llama".split()


def program_of(name: str) -> Any:
    """Returns the exported program of a model."""
    sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test" / "helpers")]
    import torch
    from device_models import WHOLE
    from models import deit_tiny, llama
    from torch_programs import seed

    seed()
    more: dict[str, Callable[[], Any]] = {"deit_tiny": lambda: deit_tiny(224, 12), "llama": lambda: llama(64, 4, vocabulary=1000)}
    module, inputs = more[name]() if name in more else WHOLE[name]()
    with torch.no_grad():
        return torch.export.export(module.eval(), inputs)


def by_torch(program: Any, path: Path) -> None:
    """Writes a program with PyTorch's exporter."""
    exporter: Any = import_module("torch.onnx")
    exporter.export(program, (), path, dynamo=True, external_data=False, verbose=False)


def by_flambeau(program: Any, path: Path) -> None:
    """Writes a program with Flambeau."""
    from flambeau import to_edge

    to_edge(program).save(path)


def written(write: Callable[[Any, Path], None], name: str, path: Path) -> tuple[float, int]:
    """Returns the CPU seconds in which a file is made of a program, the less of two times, and its bytes."""
    checker: Any = import_module("onnx.checker")
    seconds: list[float] = []
    for _ in range(2):  # the first one imports what it needs
        program = program_of(name)
        start = time.process_time()
        write(program, path)
        seconds.append(time.process_time() - start)
    checker.check_model(str(path), full_check=True)
    return min(seconds), path.stat().st_size


def measure(name: str, pairs: int) -> dict[str, Any]:
    """Returns seconds, bytes and latencies of a model's files, Flambeau's first, and how far their results are from each other."""
    import numpy as np

    onnxruntime: Any = import_module("onnxruntime")

    arrays = [item.numpy() for item in program_of(name).example_inputs[0]]
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    calls: list[Callable[[], Any]] = []
    report: dict[str, Any] = {"model": name, "seconds": [], "bytes": []}
    with TemporaryDirectory() as folder:
        for number, write in enumerate((by_flambeau, by_torch)):
            path = Path(folder) / f"{number}.onnx"
            seconds, size = written(write, name, path)
            report["seconds"].append(seconds)
            report["bytes"].append(size)
            session = onnxruntime.InferenceSession(str(path), options, ["CPUExecutionProvider"])
            given: dict[str, Any] = {item.name: array for item, array in zip(session.get_inputs(), arrays, strict=True)}
            calls.append(partial(session.run, None, given))
    ours, theirs = (call()[0].astype(np.float64) for call in calls)
    report["distance"] = float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-9))
    times: list[list[float]] = [[], []]
    turns = list(enumerate(calls))
    for number in range(pairs):
        for index, call in turns if number % 2 else reversed(turns):
            start = time.perf_counter()
            call()
            times[index].append(time.perf_counter() - start)
    report["milliseconds"] = [statistics.median(item) * 1e3 for item in times]
    report["ratio"] = statistics.median(a / b for a, b in zip(*times, strict=True))
    return report


def main() -> None:
    """Prints a line for each model, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    reports = [measure(name, options.pairs) for name in options.models]
    if options.json:
        print(json.dumps(reports, indent=1))
        return
    print("model          latency      bytes        seconds      distance")
    for item in reports:
        (a, b), (c, d) = item["bytes"], item["seconds"]
        print(f"{item['model']:<14} {item['ratio']:<12.3f} {a / b:<12.4f} {c / d:<12.3f} {item['distance']:.1e}")


if __name__ == "__main__":
    main()
