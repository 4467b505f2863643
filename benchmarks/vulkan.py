"""Compares Flambeau's compute shaders for a model with those of IREE's compiler, in turns, on one driver of Vulkan.

    python benchmarks/vulkan.py --peer /tmp/iree/bin/python
    python benchmarks/vulkan.py ds_cnn --driver /usr/share/vulkan/icd.d/lvp_icd.x86_64.json --peer … --json > shaders.json

`--peer` is a Python with iree-turbine, iree-base-compiler and iree-base-runtime, which compiles the program that Flambeau exports; without
it, only Flambeau is measured. A turn is some calls of each, in processes of their own whose order changes; the ratio of latencies is their
median over turns.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = ("ds_cnn", "mobilenet_v2", "mobilenet_v3", "resnet18", "deit_tiny", "minilm", "u_net")
DRIVER = "/usr/share/vulkan/icd.d/lvp_icd.x86_64.json"
_COMPILE = """
import os, sys
import torch
import iree.compiler
from iree.turbine import aot
program = torch.export.load(sys.argv[1])
start = sum(os.times()[:4])
text = str(aot.export(program).mlir_module)
module = iree.compiler.compile_str(text, target_backends=["vulkan-spirv"], input_type="torch")
open(sys.argv[2], "wb").write(module)
print("seconds", sum(os.times()[:4]) - start)
"""
_CALL = """
import json, sys, time
import numpy as np
from flambeau.runtime import Runtime
inputs = [np.load(path) for path in sys.argv[4:]]
method = Runtime.get().load_program(sys.argv[1]).load_method("forward")
method.execute(inputs)
start = time.perf_counter()
for _ in range(int(sys.argv[2])):
    (result,) = method.execute(inputs)
print((time.perf_counter() - start) / int(sys.argv[2]) * 1e3)
np.save(sys.argv[3], np.asarray(result))
"""


def last_line(command: list[str]) -> str:
    """Returns the last line that a program prints. Raises RuntimeError with its last words if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
    return (done.stdout.strip().splitlines() or [""])[-1]


def export(name: str, folder: Path) -> list[str]:
    """Writes the program of a model, exported and compiled, and its inputs. Returns the paths of the inputs."""
    sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test" / "helpers")]
    import numpy as np
    import torch
    from device_models import WHOLE
    from models import deit_tiny, minilm
    from torch_programs import seed

    from flambeau import to_edge

    seed()
    module, inputs = ({**WHOLE, "deit_tiny": deit_tiny, "minilm": minilm}[name])()
    with torch.no_grad():
        exported = torch.export.export(module.eval(), inputs)
    torch.export.save(exported, folder / "model.pt2")
    (folder / "ours.pte").write_bytes(to_edge(exported).to_backend("vulkan").to_executorch().buffer)
    paths = [str(folder / f"{number}.npy") for number in range(len(inputs))]
    for path, value in zip(paths, inputs, strict=True):
        np.save(path, value.numpy())
    return paths


def measure(name: str, peer: Path | None, turns: int, calls: int) -> dict[str, Any]:
    """Returns the latencies of a model. Raises RuntimeError where a program does not run."""
    import numpy as np

    with TemporaryDirectory() as place:
        folder = Path(place)
        start = time.process_time()
        paths = export(name, folder)
        report: dict[str, Any] = {"model": name, "seconds": time.process_time() - start}
        ours, theirs = folder / "ours.npy", folder / "theirs.npy"
        own = [sys.executable, "-c", _CALL, str(folder / "ours.pte"), str(calls), str(ours), *paths]
        if peer is None:
            return report | {"milliseconds": [float(last_line(own))]}
        module = folder / "theirs.vmfb"
        try:
            report["peer_seconds"] = float(last_line([str(peer), "-c", _COMPILE, str(folder / "model.pt2"), str(module)]).split()[1])
            given = ["--device=vulkan", f"--module={module}", "--function=main", *(f"--input=@{path}" for path in paths)]
            last_line([str(peer.parent / "iree-run-module"), *given, f"--output=@{theirs}"])
        except RuntimeError as error:
            return report | {"milliseconds": [float(last_line(own))], "peer_refused": str(error)}
        bench = [str(peer.parent / "iree-benchmark-module"), *given, f"--benchmark_min_time={calls}x", "--benchmark_format=json"]
        times: list[list[float]] = [[], []]
        for turn in range(turns):
            for which in (0, 1) if turn % 2 else (1, 0):
                if which == 0:
                    times[0].append(float(last_line(own)))
                else:
                    done = subprocess.run(bench, capture_output=True, text=True, check=True)
                    found = json.loads(done.stdout[done.stdout.index("{") :])["benchmarks"][0]
                    times[1].append(found["real_time"] * {"ms": 1, "us": 1e-3, "ns": 1e-6, "s": 1e3}[found["time_unit"]])
        results = [np.load(path).astype(np.float64) for path in (ours, theirs)]
        return report | {
            "milliseconds": [statistics.median(item) for item in times],
            "ratio": statistics.median(a / b for a, b in zip(*times, strict=True)),
            "distance": float(np.abs(results[0] - results[1]).max() / np.abs(results[1]).max()),
        }


def describe(report: dict[str, Any]) -> str:
    """Returns a report as a line."""
    first = f"{report['model']:14} {report['milliseconds'][0]:9.2f} ms, compiled with export in {report['seconds']:.1f} CPU s"
    if "ratio" not in report:
        return first + (f"; IREE fails: {report['peer_refused']}" if "peer_refused" in report else "")
    return (
        f"{first}; IREE {report['milliseconds'][1]:9.2f} ms (ratio {report['ratio']:.3f}), {report['peer_seconds']:.1f} CPU s; "
        f"results differ by {report['distance']:.1e} of the largest"
    )


def main() -> int:
    """Prints a line for each model, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=list(MODELS))
    parser.add_argument("--peer", type=Path, help="a Python with IREE")
    parser.add_argument("--driver", default=DRIVER, help="the file that tells Vulkan of a driver")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--calls", type=int, default=3, help="calls of a turn")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    os.environ |= dict.fromkeys(("VK_DRIVER_FILES", "VK_ICD_FILENAMES"), options.driver)
    reports: list[dict[str, Any]] = []
    for name in options.models:
        try:
            reports.append(measure(name, options.peer, options.turns, options.calls))
        except RuntimeError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 1
        print(describe(reports[-1]), file=sys.stderr if options.json else sys.stdout, flush=True)
    if options.json:
        print(json.dumps(reports))
    return 0


if __name__ == "__main__":
    sys.exit(main())
