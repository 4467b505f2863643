"""Each quantization of an ONNX file alone: what ONNX Runtime makes of the integers that PyTorch has before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from payload_judges import Judge

from flambeau.backends.onnxruntime.messages import DIMENSION, GRAPH, MODEL, SHAPE, TENSOR_TYPE, TYPE, VALUE_INFO, read
from flambeau.passes.delegation.interface import BackendError
from flambeau.runtime.protobuf import Record, encode
from flambeau.support.lazy import Array

ELEMENTS = {"float32": 1, "uint8": 2, "int8": 3, "uint16": 4, "int16": 5, "int32": 6, "int64": 7}


@dataclass(frozen=True)
class Quantized:
    """A quantization of PyTorch's: floats, in steps from the zero point, and their integers."""

    scale: np.float32
    zero_point: int
    floats: Array
    integers: Array

    def steps_to(self, found: Array) -> int:
        """Returns by how many steps other integers differ at most."""
        return int(np.abs(found.astype(np.int64) - self.integers).max(initial=0))

    def from_ties(self, found: Array) -> float:
        """Returns how far from the middle of two steps the floats are whose integers differ, at most."""
        floats = self.floats[found != self.integers]
        return float(np.abs(np.abs(floats - np.floor(floats)) - 0.5).max(initial=0))


class _Recorder(torch.fx.Interpreter):
    def __init__(self, module: torch.fx.GraphModule):
        super().__init__(module)
        self.found: list[Quantized] = []

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        result = super().call_function(target, args, kwargs)
        if str(target).startswith("quantized_decomposed.quantize_per_tensor"):
            floats, scale = args[0].double().numpy() / float(args[1]), np.float32(args[1])
            self.found.append(Quantized(scale, int(args[2]), floats, result.numpy()))
        return result


@dataclass
class Differences:
    """What quantizations differ by: in steps, and by how much their floats are beside the middle of two steps."""

    quantizations: int = 0
    elements: int = 0
    steps: int = 0
    from_ties: float = 0.0

    def __str__(self) -> str:
        said = f"{self.quantizations} quantizations, each alone: {self.elements} integers differ, by {self.steps} at most"
        return f"{said}, {self.from_ties:.0e} of a step beside the middle of two" if self.elements else said


def compare_alone(data: bytes, program: torch.export.ExportedProgram, call: Sequence[Any], judge: Judge) -> Differences:
    """Compares each quantization of a file, from those before it on, with PyTorch's. Raises ValueError where PyTorch has none like it."""
    model: Any = read(memoryview(data), "a file")
    constants = {item.name: item for item in model.graph.initializer}
    recorder, made = _Recorder(program.module()), Differences()
    with torch.no_grad():
        recorder.run(*call)
    known = {item.name: given.numpy() for item, given in zip(model.graph.input, call, strict=True)}
    for node in model.graph.node:
        if node.op_type != "QuantizeLinear":
            continue
        scale, zero = (constants[name] for name in node.input[1:])
        element = next(name for name, number in ELEMENTS.items() if number == zero.data_type)
        numbers = np.frombuffer(scale.raw_data, np.float32)[0], int(np.frombuffer(zero.raw_data, element)[0])
        alike = [item for item in recorder.found if (item.scale, item.zero_point) == numbers]
        (name,) = node.output
        results, refused = dict[tuple[int, ...], Array](), f"no quantization of PyTorch's has the scale and zero point {numbers}"
        for like in {item.integers.shape: item.integers for item in alike}.values():
            try:
                results[like.shape] = judge.run(*_part(model, name, like, known))[0]
            except RuntimeError as error:  # it is of another shape
                refused = str(error)
        if not results:
            raise ValueError(f"{name}: {refused}")
        item = min((item for item in alike if item.integers.shape in results), key=lambda item: item.steps_to(results[item.integers.shape]))
        found = results[item.integers.shape]
        known[name] = item.integers
        made.quantizations += 1
        made.elements += int((found != item.integers).sum())
        made.steps = max(made.steps, item.steps_to(found))
        made.from_ties = max(made.from_ties, item.from_ties(found))
    return made


def _part(model: Any, output: str, like: Array, known: Mapping[str, Array]) -> tuple[bytes, list[Array]]:
    """Returns a model of what makes a value from known ones, and these."""
    makers = {name: node for node in model.graph.node for name in node.output}
    constants = {item.name: item for item in model.graph.initializer}
    nodes, inputs, weights = dict[str, Any](), dict[str, Array](), dict[str, Any]()

    def follow(name: str) -> None:
        if name in known:
            inputs[name] = known[name]
        elif name in constants:
            weights[name] = constants[name]
        elif name:
            node = makers[name]
            for item in node.input:
                follow(item)
            nodes[node.name] = node

    follow(output)
    graph = GRAPH.record(
        node=list(nodes.values()),
        name="part",
        initializer=list(weights.values()),
        input=[_declared(*item) for item in inputs.items()],
        output=[_declared(output, like)],
    )
    whole = MODEL.record(ir_version=model.ir_version, graph=graph, opset_import=model.opset_import)
    return encode(MODEL, whole, BackendError), list(inputs.values())


def _declared(name: str, array: Array) -> Record:
    sizes = SHAPE.record(dim=[DIMENSION.record(dim_value=size) for size in array.shape])
    return VALUE_INFO.record(name=name, type=TYPE.record(tensor_type=TENSOR_TYPE.record(elem_type=ELEMENTS[array.dtype.name], shape=sizes)))
