"""Compares Flambeau's TFLite file of a model with that of LiteRT's own PyTorch converter, in turns, in one process with LiteRT's kernels.

    python benchmarks/tflite_files.py --peer /tmp/litert-torch/bin/python
    python benchmarks/tflite_files.py ds_cnn --peer … --json > files.json

`--peer` is a Python with litert-torch, which converts the exported program that Flambeau compiles; without it, only Flambeau's files are
measured. `make vendor-tools` installs the runtime. Models of integers are quantized by each side's own quantizer, so that their results
differ. Both run on one thread; the ratio of latencies is the median over pairs of calls, which take
turns in starting.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
MODELS = ("mobilenet_v2", "ds_cnn", "minilm", "u_net", "ds_cnn int8", "mobilenet_v2 int8")
_CONVERT = """
import sys, time
import litert_torch, torch
program = torch.export.load(sys.argv[1])
start = time.process_time()
module, inputs, config = program.module(check_guards=False), program.example_inputs[0], None
if sys.argv[3] == "int8":
    from litert_torch.quantize import pt2e_quantizer, quant_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = pt2e_quantizer.PT2EQuantizer().set_global(pt2e_quantizer.get_symmetric_quantization_config(is_per_channel=True))
    module = prepare_pt2e(module, quantizer)
    module(*inputs)
    module = convert_pt2e(module, fold_quantize=False)
    config = quant_config.QuantConfig(pt2e_quantizer=quantizer)
litert_torch.convert(module, inputs, quant_config=config).export(sys.argv[2])
print("seconds", time.process_time() - start)
"""
_RUN = """
import json, statistics, sys, time
import numpy as np
from ai_edge_litert.interpreter import Interpreter

given = np.load(sys.argv[1])
arrays = [given[name] for name in given.files]
models = [Interpreter(model_path=path, num_threads=1) for path in sys.argv[3:]]
for model in models:
    model.allocate_tensors()
    for place, array in zip(model.get_input_details(), arrays):
        if place["dtype"] == np.int8:
            scale, zero_point = place["quantization"]
            array = np.clip(np.rint(array / scale) + zero_point, -128, 127).astype(np.int8)
        model.set_tensor(place["index"], array)
    model.invoke()
results = []
for model in models:
    place = model.get_output_details()[0]
    scale, zero_point = place["quantization"] if place["dtype"] == np.int8 else (1, 0)
    results.append((model.get_tensor(place["index"]).astype(np.float64) - zero_point) * scale)
times = [[] for _ in models]
turns = list(enumerate(models))
for number in range(int(sys.argv[2])):
    for index, model in turns if number % 2 else reversed(turns):
        start = time.perf_counter()
        model.invoke()
        times[index].append(time.perf_counter() - start)
print(json.dumps({
    "milliseconds": [statistics.median(item) * 1e3 for item in times],
    "ratio": statistics.median(a / b for a, b in zip(*times)) if len(times) == 2 else None,
    "distance": float(np.abs(results[0] - results[-1]).max() / max(np.abs(results[-1]).max(), 1e-9)),
}))
"""


def programs_of(name: str) -> tuple[Any, Any]:
    """Returns the exported program of a model, and the same in floats, if the name ends with int8."""
    sys.path[:0] = [str(ROOT / "test"), str(ROOT / "test" / "helpers")]
    import torch
    from device_models import WHOLE
    from torch_programs import seed

    from flambeau import quantize

    seed()
    base, _, kind = name.partition(" ")
    module, inputs = WHOLE[base]()
    module.eval()
    floats = torch.export.export(module, inputs)
    return (quantize((module, inputs), [inputs] * 2, "int8", "litert").program if kind == "int8" else floats), floats


def convert(peer: str, program: Path, to: Path, kind: str) -> tuple[float | None, str]:
    """Returns the CPU seconds in which the converter makes a file of a program; None and its last line where it fails."""
    done = subprocess.run([peer, "-c", _CONVERT, program, to, kind], capture_output=True, text=True, check=False)
    lines = (done.stdout if done.returncode == 0 else done.stderr).strip().splitlines()
    said = next((line for line in lines if line.startswith("seconds ")), None)
    return (None, lines[-1] if lines else "it says nothing") if said is None else (float(said.split()[1]), "")


def measure(name: str, peer: str | None, pairs: int) -> dict[str, Any]:
    """Returns the bytes, the seconds of compilation and the latencies of a model's files. Raises RuntimeError where LiteRT refuses one."""
    import numpy as np
    import torch

    from flambeau import to_edge
    from flambeau.passes.rewriting.conversion_report import ConversionError

    with TemporaryDirectory() as folder:
        ours, theirs, exported, inputs = (Path(folder) / item for item in ("ours.tflite", "theirs.tflite", "model.pt2", "inputs.npz"))
        program, floats = programs_of(name)
        torch.export.save(floats, exported)
        np.savez(inputs, *(item.numpy() for item in program.example_inputs[0]))
        start = time.process_time()
        try:
            to_edge(program).save(ours)
        except ConversionError as error:
            return {"model": name, "refused": "; ".join(row.name + ": " + row.reason for row in error.report.rows)}
        report: dict[str, Any] = {"model": name, "seconds": time.process_time() - start, "bytes": ours.stat().st_size}
        files = [ours]
        if peer is not None:
            report["peer_seconds"], why = convert(peer, exported, theirs, name.partition(" ")[2])
            if why:
                report["peer_refused"] = why
            else:
                files.append(theirs)
                report["peer_bytes"] = theirs.stat().st_size
        python = str(ROOT / "build" / "tools" / "litert-test" / "bin" / "python")
        done = subprocess.run([python, "-c", _RUN, inputs, str(pairs), *files], capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{name}: {done.stderr.strip().splitlines()[-1:]}")
        return report | json.loads(done.stdout.splitlines()[-1])


def describe(report: dict[str, Any]) -> str:
    """Returns a report as a line."""
    name = f"{report['model']:18}"
    if "refused" in report:
        return f"{name} left: {report['refused']}"
    first = f"{name} {report['bytes']:>10} bytes, {report['milliseconds'][0]:8.3f} ms, made in {report['seconds']:.1f} CPU s"
    if "peer_bytes" not in report:
        return first + (f"; the converter fails: {report['peer_refused']}" if "peer_refused" in report else "")
    return (
        f"{first}; the converter's: {report['peer_bytes']} bytes ({report['bytes'] / report['peer_bytes']:.3f} of it), "
        f"{report['milliseconds'][1]:.3f} ms (ratio {report['ratio']:.3f}), {report['peer_seconds']:.1f} CPU s; "
        f"results differ by {report['distance']:.1e}"
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints a line for each model, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("models", nargs="*", default=MODELS, help=f"of {', '.join(MODELS)}")
    parser.add_argument("--peer", metavar="PYTHON", help="a Python with litert-torch")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args(arguments)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    for name in options.models:
        report = measure(name, options.peer, options.pairs)
        print(json.dumps(report) if options.json else describe(report), flush=True)


if __name__ == "__main__":
    main()
