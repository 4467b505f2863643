"""Compares Flambeau's ONNX file of a model with that of torch.onnx.export, in turns, in ONNX Runtime.

    python -m pip install --group bench --group onnxruntime-test
    python benchmarks/onnx_files.py
    python benchmarks/onnx_files.py ds_cnn --json > files.json

Both make a file of the same exported program, and both files pass onnx.checker's full check. Each runs in a process of its own, on one
thread; several pairs of processes, as where memory lies changes speed too. In a round, slices of many calls take turns as ours, theirs,
theirs, ours, or the other way round; a slice counts by its fastest call, in CPU time, which is the latency of one thread that nothing
else interrupts. Ratios are Flambeau's number divided by PyTorch's; that of latencies is the median of the rounds, with their quartiles.
The ratio of a file to itself (`--same`) says how much of this is chance.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = "mobilenet_v2 mobilenet_v3 resnet18 ds_cnn u_net minilm gru wav2letter deit_tiny llama".split()
SLICE = 0.1
"""The seconds of a slice, about."""


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


SERVER = """
import sys, time
import numpy, onnxruntime

path, inputs = sys.argv[1:]
options = onnxruntime.SessionOptions()
options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = 1, 1, 4
session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
arrays = numpy.load(inputs)
given = {item.name: arrays[key] for item, key in zip(session.get_inputs(), arrays.files, strict=True)}
for line in sys.stdin:
    count, times = int(line), []
    session.run(None, given)
    for _ in range(count):
        start = time.process_time()
        session.run(None, given)
        times.append(time.process_time() - start)
    print(min(times), flush=True)
"""
"""A program that runs a file so many times as a line of its input says, and says how long the fastest call took."""


class Server:
    """A file in a process of its own."""

    def __init__(self, path: Path, inputs: Path):
        command = [sys.executable, "-c", SERVER, str(path), str(inputs)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def slice(self, calls: int) -> float:
        """Returns the seconds of the fastest of some calls."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(f"{calls}\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def end(self) -> None:
        """Ends the process."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def latencies(paths: Sequence[Path], inputs: Path, pairs: int, rounds: int) -> tuple[list[list[float]], list[float]]:
    """Returns the seconds of each file's slices, and the ratio of each round."""
    times: list[list[float]] = [[], []]
    ratios: list[float] = []
    for pair in range(pairs):
        order = (0, 1) if pair % 2 else (1, 0)
        servers = {index: Server(paths[index], inputs) for index in order}
        calls = max(3, min(200, int(SLICE / max(server.slice(3) for server in servers.values()))))
        for _ in range(rounds):
            turn: list[list[float]] = [[], []]
            for index in (*order, *reversed(order)):
                turn[index].append(servers[index].slice(calls))
            ratios.append(sum(turn[0]) / sum(turn[1]))
            for index in order:
                times[index] += turn[index]
        for server in servers.values():
            server.end()
    return times, ratios


def results_of(path: Path, arrays: Sequence[Any]) -> Any:
    """Returns the first result of a file."""
    onnxruntime: Any = import_module("onnxruntime")
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, {item.name: array for item, array in zip(session.get_inputs(), arrays, strict=True)})[0].astype("float64")


def measure(name: str, pairs: int, rounds: int, is_same: bool) -> dict[str, Any]:
    """Returns seconds, bytes and latencies of a model's files, Flambeau's first, and how far their results are from each other."""
    import numpy as np

    arrays = [item.numpy() for item in program_of(name).example_inputs[0]]
    report: dict[str, Any] = {"model": name, "seconds": [], "bytes": []}
    with TemporaryDirectory() as folder:
        paths, inputs = [Path(folder) / f"{number}.onnx" for number in range(2)], Path(folder) / "inputs.npz"
        np.savez(inputs, *arrays)
        for path, write in zip(paths, (by_flambeau, by_flambeau if is_same else by_torch), strict=True):
            seconds, size = written(write, name, path)
            report["seconds"].append(seconds)
            report["bytes"].append(size)
        ours, theirs = (results_of(path, arrays) for path in paths)
        report["distance"] = float(np.abs(ours - theirs).max() / max(np.abs(theirs).max(), 1e-9))
        times, ratios = latencies(paths, inputs, pairs, rounds)
    report["milliseconds"] = [statistics.median(item) * 1e3 for item in times]
    report["ratio"], report["quartiles"] = statistics.median(ratios), statistics.quantiles(ratios, n=4)[::2]
    return report


def main() -> None:
    """Prints a line for each model, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS)
    parser.add_argument("--pairs", type=int, default=4, help="the pairs of processes")
    parser.add_argument("--rounds", type=int, default=12, help="the rounds of each pair")
    parser.add_argument("--same", action="store_true", help="compare Flambeau's file with itself")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    reports = [measure(name, options.pairs, options.rounds, options.same) for name in options.models]
    if options.json:
        print(json.dumps(reports, indent=1))
        return
    print("model          latency  of rounds        ms      bytes     seconds  distance")
    for item in reports:
        (a, b), (c, d), (low, high) = item["bytes"], item["seconds"], item["quartiles"]
        said = f"{item['ratio']:<8.3f} {low:.3f} to {high:.3f}  {item['milliseconds'][0]:<7.2f} {a / b:<9.4f} {c / d:<8.3f}"
        print(f"{item['model']:<14} {said} {item['distance']:.1e}")


if __name__ == "__main__":
    main()
