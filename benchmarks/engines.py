"""The engines of compare.py: how each makes a file of an exported program, and how it runs this file with some threads."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Call = Callable[[], Any]
"""Runs a program on its inputs, and returns its first result."""


@dataclass(frozen=True)
class Engine:
    """A way from PyTorch's exported program to results.

    Attributes:
        title: its name for people.
        write: makes a file of an exported program.
        load: takes the file, numpy's arrays of the inputs, and the number of threads.
        packages: without them, it takes no part; what importing them takes is not the program's.
    """

    title: str
    write: Callable[[Any, Path], None]
    load: Callable[[Path, Sequence[Any], int], Call]
    packages: tuple[str, ...]

    def is_installed(self) -> bool:
        """Returns whether its packages are there."""
        return all(importlib.util.find_spec(package) for package in self.packages)


def _ours(target: str) -> Callable[[Any, Path], None]:
    def write(program: Any, path: Path) -> None:
        from flambeau.compiler.compilation import Compilation
        from flambeau.dialects.schema.context import FlambeauContext
        from flambeau.frontends.torch_export import import_program
        from flambeau.passes.manager.pipeline_options import PipelineOptions

        context = FlambeauContext()
        path.write_bytes(Compilation(import_program(program, context), context, PipelineOptions(target=target)).emit())

    return write


def _run_ours(path: Path, arrays: Sequence[Any], threads: int) -> Call:
    from flambeau.runtime import Runtime

    method = Runtime(threads=threads).load_program(path).load_method("forward")
    return lambda: method.execute(arrays)[0]


def _by_xnnpack(program: Any, path: Path) -> None:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    path.write_bytes(to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()]).to_executorch().buffer)


def _run_executorch(path: Path, arrays: Sequence[Any], threads: int) -> Call:
    import torch
    from executorch.runtime import Runtime

    bindings: Any = importlib.import_module("executorch.extension.pybindings.portable_lib")
    bindings._unsafe_reset_threadpool(threads)
    stock: Any = Runtime
    held = stock.get().load_program(path)
    method, tensors = held.load_method("forward"), tuple(torch.as_tensor(array) for array in arrays)
    return lambda _held=held: method.execute(tensors)[0].numpy()


def _by_onnx(program: Any, path: Path) -> None:
    exporter: Any = importlib.import_module("torch.onnx")
    exporter.export(program, (), path, dynamo=True, external_data=False, verbose=False)


def _run_onnxruntime(path: Path, arrays: Sequence[Any], threads: int) -> Call:
    library: Any = importlib.import_module("onnxruntime")
    options = library.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads, options.log_severity_level = threads, 1, 4
    session = library.InferenceSession(path, options, ["CPUExecutionProvider"])
    binding = session.io_binding()
    for item, array in zip(session.get_inputs(), arrays, strict=True):
        binding.bind_cpu_input(item.name, array)
    for item in session.get_outputs():
        binding.bind_output(item.name, "cpu")

    def call() -> Any:
        session.run_with_iobinding(binding)
        return binding.get_outputs()[0].numpy()

    return call


def _by_openvino(program: Any, path: Path) -> None:
    library: Any = importlib.import_module("openvino")
    library.save_model(library.convert_model(program), path, compress_to_fp16=False)


def _run_openvino(path: Path, arrays: Sequence[Any], threads: int) -> Call:
    library: Any = importlib.import_module("openvino")
    settings = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads, "PERFORMANCE_HINT": "LATENCY"}
    request = library.Core().compile_model(path, "CPU", settings).create_infer_request()
    for index, array in enumerate(arrays):
        request.set_input_tensor(index, library.Tensor(array, shared_memory=True))

    def call() -> Any:
        request.infer(share_outputs=True)
        return request.get_output_tensor(0).data

    return call


def _by_torch(program: Any, path: Path) -> None:
    import torch

    torch.export.save(program, path)


def _run_torch(path: Path, arrays: Sequence[Any], threads: int) -> Call:
    import torch

    functions: Any = torch
    functions.set_num_threads(threads)
    settings: Any = importlib.import_module("torch._inductor.config")
    settings.freezing = True
    compiled = functions.compile(torch.export.load(path).module())
    tensors = [torch.as_tensor(array) for array in arrays]

    def call() -> Any:
        with functions.inference_mode():
            found = compiled(*tensors)
        return (found if isinstance(found, torch.Tensor) else found[0]).numpy()

    return call


ENGINES: Mapping[str, Engine] = {
    "flambeau": Engine("Flambeau", _ours("flambeau"), _run_ours, ("numpy", "flambeau.runtime.binding")),
    "default": Engine("Flambeau, target executorch", _ours("executorch"), _run_ours, ("numpy", "flambeau.runtime.binding")),
    "onnxruntime": Engine("ONNX Runtime", _by_onnx, _run_onnxruntime, ("onnxscript", "onnxruntime")),
    "openvino": Engine("OpenVINO", _by_openvino, _run_openvino, ("openvino",)),
    "xnnpack": Engine("ExecuTorch with XNNPACK", _by_xnnpack, _run_executorch, ("torch", "executorch", "executorch.runtime")),
    "inductor": Engine("torch.compile", _by_torch, _run_torch, ("torch", "torch._inductor")),
}
OURS = ("flambeau", "default")
"""Engines of Flambeau; the rest are peers."""
