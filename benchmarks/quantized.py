"""Compares int8 models with their float models, and with the int8 programs of ExecuTorch, OpenVINO and ONNX Runtime, in turns.

    python benchmarks/quantized.py mobilenet_v2
    python benchmarks/quantized.py --json > quantized.json

Images: PT2E with ExecuTorch's XNNPACKQuantizer, static, a scale for each output channel. MiniLM: linear layers whose ranges each run
finds (`flambeau quantize --recipe int8-dynamic`), which Flambeau gives neither to XNNPACK nor to OpenVINO. All compile the same export,
but for ONNX Runtime, which quantizes the floats by itself, and is left out where `onnxruntime` and `onnxscript` are not installed. One
core. Each ratio is the median over rounds, which call every program once.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from delegates import alternate, compare, compile_executorch, compile_ours, find_model, run_ours, run_stock

MODELS = ("mobilenet_v2", "resnet18", "ds_cnn", "minilm")
DYNAMIC = ("minilm",)
"""Models whose ranges each run finds."""
ROWS = {
    "float": "floats, Flambeau's kernels",
    "int8": "Flambeau's kernels",
    "xnnpack": "XNNPACK by Flambeau, in ExecuTorch",
    "executorch": "XNNPACK by ExecuTorch",
    "openvino": "OpenVINO by Flambeau",
    "onnxruntime": "ONNX Runtime",
}


@dataclass(frozen=True)
class Made:
    """A callable program, with its size in bytes."""

    call: Callable[[], Any]
    size: int


def quantized(module: Any, inputs: tuple[Any, ...]) -> Any:
    """Returns the export of a module, quantized as users of ExecuTorch do; the inputs are the calibration samples."""
    import torch
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(is_per_channel=True))
    prepared = prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
    prepared(*inputs)
    return torch.export.export(convert_pt2e(prepared), inputs)


@dataclass(frozen=True)
class _Samples:
    """The calibration inputs, with ONNX Runtime's interface."""

    given: Iterator[dict[str, Any]]

    def get_next(self) -> dict[str, Any] | None:
        """Returns the next inputs, or None."""
        return next(self.given, None)


def _onnx(module: Any, inputs: tuple[Any, ...], is_dynamic: bool, folder: Path) -> Made:
    """Returns ONNX Runtime's quantized program for a float module."""
    import torch

    library: Any = importlib.import_module("onnxruntime")
    tools: Any = importlib.import_module("onnxruntime.quantization")
    prepare: Any = importlib.import_module("onnxruntime.quantization.shape_inference").quant_pre_process
    exporter: Any = torch.onnx
    floats, ready, integers = (folder / f"{name}.onnx" for name in ("floats", "ready", "integers"))
    exporter.export(module, inputs, floats, dynamo=True, external_data=False, verbose=False)
    names = [item.name for item in library.InferenceSession(floats).get_inputs()]
    arrays = {name: tensor.numpy() for name, tensor in zip(names, inputs, strict=True)}
    prepare(floats, ready, skip_symbolic_shape=True)
    if is_dynamic:
        tools.quantize_dynamic(ready, integers, per_channel=True)
    else:
        tools.quantize_static(ready, integers, _Samples(iter([arrays])), per_channel=True)
    options = library.SessionOptions()
    options.intra_op_num_threads = 1
    session = library.InferenceSession(integers, options)
    return Made(lambda: session.run(None, arrays)[0], integers.stat().st_size)


def make(name: str, folder: Path) -> tuple[dict[str, Made], Any]:
    """Returns the programs of one model, by the keys of ROWS, and PyTorch's result on the integers."""
    import torch

    import flambeau

    module, inputs = find_model(name)
    with torch.no_grad():
        floats = torch.export.export(module, inputs)
        integers = flambeau.quantize(floats, None, "int8-dynamic").program if name in DYNAMIC else quantized(module, inputs)
        expected = integers.module()(*inputs).numpy()
        programs: dict[str, tuple[bytes, Callable[..., Any]]] = {
            "float": (compile_ours(floats, target="flambeau"), run_ours),
            "int8": (compile_ours(integers, target="flambeau"), run_ours),
            "executorch": (compile_executorch(integers), run_stock),
        }
        if name not in DYNAMIC:
            programs["xnnpack"] = compile_ours(integers, "xnnpack"), run_stock
            programs["openvino"] = compile_ours(integers, "openvino"), run_ours
        made = {key: Made(run(program, inputs), len(program)) for key, (program, run) in programs.items()}
        if all(importlib.util.find_spec(package) for package in ("onnxruntime", "onnxscript")):
            made["onnxruntime"] = _onnx(module, inputs, name in DYNAMIC, folder)
    return made, expected


def measure(name: str, rounds: int) -> dict[str, Any]:
    """Returns all figures of one model."""
    import numpy as np

    with tempfile.TemporaryDirectory() as folder:
        made, expected = make(name, Path(folder))
        times = alternate({key: item.call for key, item in made.items()}, rounds)
    return {
        key: {
            "milliseconds": statistics.median(times[key]),
            "ratio_to_float": statistics.median(ours / theirs for ours, theirs in zip(times[key], times["float"], strict=True)),
            "ratio_to_executorch": statistics.median(ours / theirs for ours, theirs in zip(times[key], times["executorch"], strict=True)),
            "bytes": item.size,
            "distance": float(np.abs(item.call() - expected).max() / np.abs(expected).max()),
        }
        for key, item in made.items()
    }


def rows(result: dict[str, Any]) -> Iterator[Sequence[str]]:
    """Yields the table of a model."""
    yield "latency, ms", "/ float", "/ executorch", "bytes", "distance"
    for key, found in result.items():
        ratios = [f"{found[ratio]:.3f}" for ratio in ("ratio_to_float", "ratio_to_executorch")]
        yield ROWS[key], f"{found['milliseconds']:.3f}", *ratios, str(found["bytes"]), f"{found['distance']:.1e}"


def main() -> int:
    """Runs the comparison; returns the exit status."""
    parser = argparse.ArgumentParser(description="Compares int8 models with float models and with other runtimes.")
    parser.add_argument("--rounds", type=int, default=60, help="rounds of calls")
    return compare(__file__, parser, MODELS, measure, rows)


if __name__ == "__main__":
    sys.exit(main())
