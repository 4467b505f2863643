"""Compares Flambeau with ONNX Runtime, OpenVINO, ExecuTorch with XNNPACK, and torch.compile: latency, compilation, loading, memory, bytes.

    python -m pip install --group bench --group onnxruntime-test
    python benchmarks/compare.py
    python benchmarks/compare.py mobilenet_v2 minilm --threads 1 --engines flambeau xnnpack
    python benchmarks/compare.py --json > benchmarks/latency.json  # latency_chart.py draws it
    python benchmarks/compare.py --files build/compared --build-only  # the files, on a machine that need not be quiet
    python benchmarks/compare.py --files build/compared

Every engine runs the same exported program, in float32, in a process of its own, which stands still while another one has its turn, so that
threads that wait take no time from it. In a round each engine has a slice of many calls, which counts by its fastest one; a slice in which
other programs took more than a quarter of a processor does not count, if enough are left. A ratio is the median over rounds of Flambeau's
slice divided by the peer's. The limit of a network is the greater of its floating-point operations by the measured peak of this machine and
the bytes of its weights by the measured bandwidth; both are measured with as many threads.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

from compared_networks import NETWORKS, network
from engines import ENGINES, OURS

SLICE = 0.15
"""The seconds of a slice, about."""
FOREIGN = 0.25
"""Processors that other programs may take during a slice that counts."""
ENOUGH = 4
"""Rounds that count; where fewer would, all do."""
LONG = 20.0
"""CPU seconds of a compilation that is not repeated."""
SUFFIXES = {"onnxruntime": ".onnx", "openvino": ".xml", "inductor": ".pt2"}
"""Of files that are not `.pte`."""


def build(name: str, engine: str, folder: Path) -> dict[str, Any]:
    """Writes an engine's file of a network, and returns the least CPU seconds of two times, of which the first includes imports.

    A first time of more than a few seconds stands alone: imports are a small part of it.
    """
    import torch

    module, inputs = network(name)
    path, seconds = path_of(engine, folder), list[float]()
    for _ in range(2):
        with torch.no_grad():
            program = torch.export.export(module, inputs)
        start = time.process_time()
        ENGINES[engine].write(program, path)
        seconds.append(time.process_time() - start)
        if seconds[0] > LONG:
            break
    files = [file for file in folder.iterdir() if file.stem == engine]
    return {"compile_seconds": min(seconds), "bytes": sum(file.stat().st_size for file in files)}


def path_of(engine: str, folder: Path) -> Path:
    """Returns the file of an engine."""
    return folder / f"{engine}{SUFFIXES.get(engine, '.pte')}"


def prepare(name: str, folder: Path) -> dict[str, Any]:
    """Stores inputs and PyTorch's result, and returns the bytes of the weights, without those of embeddings, and operators."""
    import numpy as np
    import torch

    module, inputs = network(name)
    with torch.no_grad():
        found = module(*inputs)
        operators = sum(node.op == "call_function" for node in torch.export.export(module, inputs).graph.nodes)
    np.savez(folder / "inputs.npz", *[tensor.numpy() for tensor in inputs])
    np.save(folder / "expected.npy", (found if isinstance(found, torch.Tensor) else found[0]).numpy())
    embedded = {id(child.weight) for child in module.modules() if isinstance(child, torch.nn.Embedding)}
    return {"weight_bytes": sum(4 * item.numel() for item in module.parameters() if id(item) not in embedded), "operators": operators}


def machine(threads: int) -> dict[str, float]:
    """Returns the measured floating-point operations and bytes of this machine in a second."""
    from flambeau.tools.profiling.machine import measure_machine

    _pin(threads)
    found = measure_machine()
    return {"flops": found.flops, "bandwidth": found.bandwidth}


def operations(folder: Path) -> float:
    """Returns the floating-point operations of a run of Flambeau's program."""
    import numpy as np

    from flambeau.compiler.program_profile import profile_program

    stored = np.load(folder / "inputs.npz")
    profile = profile_program((folder / "flambeau.pte").read_bytes(), lambda: [stored[key] for key in stored.files], iterations=1)
    return float(profile.times.flops or 0)


def _pin(threads: int) -> None:
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-threads:])


def resident(kind: str) -> int:
    """Returns resident bytes of this process, now (`VmRSS`) or at their peak (`VmHWM`)."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{kind}:"):
            return 1024 * int(line.split()[1])
    raise RuntimeError(f"this system does not tell a process's {kind} in /proc/self/status")


def serve(engine: str, folder: Path, threads: int) -> None:
    """Loads a program, says how long that took, and how far its result is; then runs for so many seconds as a line of stdin says."""
    import numpy as np

    _pin(threads)
    stored, expected = np.load(folder / "inputs.npz"), np.load(folder / "expected.npy")
    arrays = [stored[key] for key in stored.files]
    for package in ENGINES[engine].packages:
        importlib.import_module(package)
    path = path_of(engine, folder)
    before, start = resident("VmRSS"), time.perf_counter()
    call = ENGINES[engine].load(path, arrays, threads)
    found = np.array(call())
    loaded = time.perf_counter() - start
    scale = np.abs(expected).max()
    call()
    distance = float(np.abs(found - expected).max() / scale)
    print(json.dumps({"load_seconds": loaded, "memory": resident("VmHWM") - before, "distance": distance}), flush=True)
    for line in sys.stdin:
        end, least = time.perf_counter() + float(line), math.inf
        while True:
            start = time.perf_counter()
            call()
            now = time.perf_counter()
            least = min(least, now - start)
            if now >= end:
                break
        print(least, flush=True)


class Server:
    """An engine in a process of its own, which stands still between its slices."""

    def __init__(self, engine: str, folder: Path, threads: int):
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--step", "serve", engine, str(folder), str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(threads),
            text=True,
            start_new_session=True,
        )
        line = self._line()
        self.told: dict[str, Any] = json.loads(line) if line else {"failed": "it ended while it loaded the program"}
        self._stop()

    def slice(self) -> tuple[float, float]:
        """Returns the seconds of the fastest call, and the processors that other programs took meanwhile."""
        assert self.process.stdin is not None
        os.killpg(self.process.pid, signal.SIGCONT)
        busy, own, start = _busy(), self._own(), time.perf_counter()
        self.process.stdin.write(f"{SLICE}\n")
        self.process.stdin.flush()
        least = float(self._line())
        seconds = time.perf_counter() - start
        foreign = (_busy() - busy - (self._own() - own)) / seconds
        self._stop()
        return least, foreign

    def end(self) -> None:
        """Ends the process."""
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def _stop(self) -> None:
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGSTOP)

    def _line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def _own(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _busy() -> float:
    fields = [int(field) for field in Path("/proc/stat").read_text().splitlines()[0].split()[1:]]
    return (sum(fields[:8]) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def environment(threads: int) -> dict[str, str]:
    """Returns the variables of a step's process."""
    return os.environ | {"OMP_NUM_THREADS": str(threads), "TRANSFORMERS_VERBOSITY": "error", "PYTHONWARNINGS": "ignore"}


def step(*arguments: str, threads: int = 1) -> dict[str, Any]:
    """Runs a step of this script in a new process and returns its JSON."""
    command = [sys.executable, __file__, "--step", *arguments]
    run = subprocess.run(command, capture_output=True, text=True, env=environment(threads), check=False)
    if run.returncode != 0:
        lines = [line for line in run.stderr.splitlines() if line.strip()] or [f"status {run.returncode}"]
        return {"failed": lines[-1][:300]}
    return json.loads(run.stdout.splitlines()[-1])


def run_step(arguments: list[str]) -> None:
    """Runs one step, and prints JSON."""
    match arguments:
        case ["build", name, engine, folder]:
            result: Mapping[str, Any] = build(name, engine, Path(folder))
        case ["prepare", name, folder]:
            result = prepare(name, Path(folder))
        case ["operations", folder]:
            result = {"flops": operations(Path(folder))}
        case ["machine", threads]:
            result = machine(int(threads))
        case [_, engine, folder, threads]:
            serve(engine, Path(folder), int(threads))
            return
        case _:
            raise RuntimeError(f"no step {arguments}")
    print(json.dumps(result))


def measure(folder: Path, engines: list[str], threads: int, rounds: int) -> dict[str, dict[str, Any]]:
    """Returns the figures of each engine with some threads: what its process told, milliseconds, and Flambeau's time divided by its own."""
    servers = {engine: Server(engine, folder, threads) for engine in engines}
    found: dict[str, dict[str, Any]] = {engine: server.told for engine, server in servers.items()}
    running = {engine: server for engine, server in servers.items() if "failed" not in server.told}
    slices: dict[str, list[tuple[float, float]]] = {engine: [] for engine in running}
    for round_ in range(rounds):
        for engine in running if round_ % 2 else reversed(running):
            slices[engine].append(running[engine].slice())
    for server in servers.values():
        server.end()
    counted = [index for index in range(rounds) if all(items[index][1] < FOREIGN for items in slices.values())]
    if len(counted) < ENOUGH:
        counted = list(range(rounds))
    ours = slices.get(OURS[0])
    for engine, items in slices.items():
        found[engine]["milliseconds"] = 1e3 * statistics.median(items[index][0] for index in counted)
        found[engine]["least"] = 1e3 * min(least for least, _ in items)
        if ours is not None:
            found[engine]["ratio"] = statistics.median(ours[index][0] / items[index][0] for index in counted)
        found[engine]["rounds"] = len(counted)
    return found


def make(name: str, engines: list[str], folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    """Makes the files of a network that are not in the folder, and returns what is known of them without running them."""
    known = folder / "known.json"
    result: dict[str, Any] = json.loads(known.read_text()) if known.exists() else {"engines": {}, **step("prepare", name, str(folder))}
    for engine in engines:
        if engine not in result["engines"] or not path_of(engine, folder).exists():
            say(f"{name}: {ENGINES[engine].title} compiles")
            result["engines"][engine] = step("build", name, engine, str(folder))
            known.write_text(json.dumps(result))
    return result | {"engines": {engine: result["engines"][engine] for engine in engines}}


def compare(made: Mapping[str, Any], folder: Path, threads: list[int], rounds: int) -> dict[str, Any]:
    """Returns all figures of a network whose files are made."""
    result = dict(made)
    engines = [engine for engine, row in made["engines"].items() if "failed" not in row]
    if OURS[0] in engines:
        result |= step("operations", str(folder))
    for count in threads:
        result[f"threads_{count}"] = measure(folder, engines, count, rounds)
    return result


def best_peer(figures: Mapping[str, Mapping[str, Any]]) -> tuple[str, float] | None:
    """Returns the fastest of the other engines, and Flambeau's time divided by its own."""
    peers = {name: row["ratio"] for name, row in figures.items() if name not in OURS and "ratio" in row}
    return max(peers.items(), key=lambda item: item[1]) if peers else None


def summary(name: str, result: Mapping[str, Any], threads: list[int]) -> str:
    """Returns a line on a network, for people who wait for the tables."""
    parts = list[str]()
    for count in threads:
        figures = result[f"threads_{count}"]
        best, ours = best_peer(figures), figures.get(OURS[0], {})
        against = f", {best[1]:.2f} of {best[0]}" if best else ""
        parts.append(f"{ours['milliseconds']:.3f} ms{against}" if "milliseconds" in ours else "failed")
    return f"{name}: {'; '.join(parts)}"


def print_tables(results: Mapping[str, Any], threads: list[int], engines: list[str], machines: Mapping[int, Mapping[str, float]]) -> None:
    """Prints a table of latencies for each number of threads, and one of the rest."""
    from rich.console import Console
    from rich.table import Table

    console = Console(stderr=True, highlight=False, width=200)
    for count in threads:
        peak = machines[count]
        title = f"{count} thread{'' if count == 1 else 's'}, ms; {peak['flops'] / 1e9:.0f} GFLOP/s, {peak['bandwidth'] / 1e9:.1f} GB/s"
        table = Table(
            title, *engines, "limit", "/ best peer", "best peer", "xnnpack / ours", "default / ours", box=None, header_style="bold"
        )
        products: dict[str, list[float]] = {"best": [], "xnnpack": [], "default": []}
        for name, result in results.items():
            figures = result[f"threads_{count}"]
            times = [f"{figures[one]['milliseconds']:.3f}" if "milliseconds" in figures.get(one, {}) else "failed" for one in engines]
            limit = 1e3 * max(result.get("flops", 0) / peak["flops"], result["weight_bytes"] / peak["bandwidth"])
            best = best_peer(figures)
            ratios = {"best": best[1] if best else None, **{one: _ratio(figures, one) for one in ("xnnpack", "default")}}
            for key, ratio in ratios.items():
                products[key] += [] if ratio is None else [ratio]
            shown = [
                _shown(ratios["best"]),
                best[0] if best else "",
                *(_shown(ratios[one], inverse=True) for one in ("xnnpack", "default")),
            ]
            table.add_row(name, *times, f"{limit:.3f}", *shown)
        means = {key: statistics.geometric_mean(values) if values else None for key, values in products.items()}
        last = [_shown(means["best"]), "", *(_shown(means[one], inverse=True) for one in ("xnnpack", "default"))]
        table.add_row("geometric mean", *("" for _ in engines), "", *last)
        console.print(table)
    table = Table("compile, CPU s · load, ms · memory, MB · bytes, MB · distance", *engines, box=None, header_style="bold")
    for name, result in results.items():
        rows = {one: result["engines"][one] | result[f"threads_{threads[0]}"].get(one, {}) for one in engines}
        table.add_row(name, *(_rest(row) for row in rows.values()))
    console.print(table)
    for name, result in results.items():
        for engine, row in result["engines"].items():
            if "failed" in row:
                console.print(f"{name}, {ENGINES[engine].title}: {row['failed']}", markup=False)


def _ratio(figures: Mapping[str, Any], engine: str) -> float | None:
    return figures.get(engine, {}).get("ratio")


def _shown(ratio: float | None, *, inverse: bool = False) -> str:
    return "" if ratio is None else f"{1 / ratio if inverse else ratio:.2f}"


def _rest(row: Mapping[str, Any]) -> str:
    if "load_seconds" not in row:
        return "failed"
    sizes = f"{row['memory'] / 1e6:.1f} · {row['bytes'] / 1e6:.2f}"
    return f"{row['compile_seconds']:.2f} · {1e3 * row['load_seconds']:.1f} · {sizes} · {row['distance']:.0e}"


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares Flambeau with other engines.")
    parser.add_argument("models", nargs="*", metavar="model", help=f"of {', '.join(NETWORKS)}; all of them if none is named")
    parser.add_argument("--engines", nargs="+", choices=list(ENGINES), help="all that are installed if none is named")
    parser.add_argument("--threads", nargs="+", type=int, default=[1, 2])
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--files", type=Path, help="a folder that keeps the engines' files; those that are there are not made again")
    parser.add_argument("--build-only", action="store_true", help="make the files, and run nothing")
    parser.add_argument("--json", action="store_true", help="print all figures as JSON on stdout")
    parser.add_argument("--step", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.step:
        warnings.simplefilter("ignore")
        run_step(options.step)
        return 0
    unknown = [name for name in options.models if name not in NETWORKS]
    if unknown:
        parser.error(f"no network {', '.join(unknown)}; there are {', '.join(NETWORKS)}")
    if options.build_only and options.files is None:
        parser.error("--build-only needs a folder that keeps the files: --files FOLDER")
    from rich.console import Console

    from flambeau.tools.profiling.machine import machine_name

    console = Console(stderr=True, highlight=False)
    engines = options.engines or [name for name, engine in ENGINES.items() if engine.is_installed()]
    results: dict[str, Any] = {}
    with tempfile.TemporaryDirectory() as temporary, console.status("") as status:
        machines = {} if options.build_only else {count: step("machine", str(count), threads=count) for count in options.threads}
        for name in options.models or list(NETWORKS):
            folder = (options.files or Path(temporary)) / name
            folder.mkdir(parents=True, exist_ok=True)
            made = make(name, engines, folder, status.update)
            if not options.build_only:
                status.update(f"{name}: {len(engines)} engines run")
                results[name] = compare(made, folder, options.threads, options.rounds)
                console.print(summary(name, results[name], options.threads), markup=False)
    if options.build_only:
        return 0
    print_tables(results, options.threads, engines, machines)
    if options.json:
        recorded = {"machine": machine_name(), "peak": machines, "date": date.today().isoformat(), "models": results}
        json.dump(recorded, sys.stdout, indent=1)
        sys.stdout.write("\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
