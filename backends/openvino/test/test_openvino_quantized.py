"""Networks of quantized numbers: in one call, with weights of 8 bits, and near what PyTorch computes of the same integers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch_programs import seed
from xdsl.dialects.builtin import ModuleOp, i8

import flambeau
from flambeau import to_edge
from flambeau.backends.openvino.decode import decode
from flambeau.dialects.ir.tensor_types import element_of, f32, numel
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.passes.manager import Pipeline
from flambeau.runtime import Runtime
from flambeau.runtime.emit import emit_pte
from flambeau.runtime.interpreter import interpret
from flambeau.runtime.pte import read_program

F = nn.functional


class Network(nn.Module):
    """Layers of each kind, and what stands between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2))
        self.depthwise, self.groups = nn.Conv2d(16, 16, 3, padding=1, groups=16), nn.Conv2d(16, 16, 1, groups=4)
        self.last = nn.Linear(32, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        y = F.hardswish(self.depthwise(x) + x)
        return self.last(torch.cat((y, self.groups(y).sigmoid()), 1).mean((2, 3)))


def quantized(recipe: Any) -> tuple[torch.export.ExportedProgram, Tensor]:
    seed()
    samples = [(torch.randn(1, 3, 12, 12),) for _ in range(6)]
    return flambeau.quantize((Network().eval(), samples[0]), samples, recipe).program, samples[1][0]


@pytest.mark.parametrize(("recipe", "weights"), [("int8", 3), ("w8", 4)])
@pytest.mark.usefixtures("openvino_library")
def test_a_network_is_one_call_with_integers_for_weights(recipe: Any, weights: int):
    """The recipe int8 leaves convolutions of several groups in floats."""
    program, x = quantized(recipe)
    edge = to_edge(program).to_backend("openvino")
    assert not edge.survey("openvino").refused
    data = bytes(edge.to_executorch().buffer)
    context = FlambeauContext()
    constants = [op.type for op in payload_of(data, context).walk() if isinstance(op, GlobalOp)]
    assert Counter(element_of(kind) for kind in constants if numel(kind) > 32) == Counter({i8: weights} | ({f32: 1} if weights < 4 else {}))
    expected = program.module()(x).detach().numpy()
    for run in (
        lambda: run_payload("OpenvinoBackend", memoryview(delegate_of(data)), {}, [x.numpy()])[0],
        lambda: Runtime.get().load_program(data).load_method("forward").execute([x.numpy()])[0],
    ):
        assert np.abs(np.asarray(run()) - expected).max() / np.abs(expected).max() < 0.03


class Joined(nn.Module):
    """Images that are joined, a function, and a layer, between which there are only roundings."""

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.left, self.right, self.last = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(16, 4, 3)
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        return self.last(self.function(torch.cat((self.left(x), self.right(x)), 1)))


@pytest.mark.parametrize("function", [Tensor.contiguous, torch.relu, F.hardswish], ids=["nothing", "relu", "hardswish"])
@pytest.mark.usefixtures("openvino_library")
def test_joined_images_are_right(function: Callable[[Tensor], Tensor]):
    seed()
    samples = [(torch.randn(1, 3, 10, 10),) for _ in range(6)]
    program = flambeau.quantize((Joined(function).eval(), samples[0]), samples).program
    expected = program.module()(*samples[2]).detach().numpy()
    for backend in ("openvino", "openvino{compiled=true}"):
        method = Runtime.get().load_program(bytes(to_edge(program).to_backend(backend).to_executorch().buffer)).load_method("forward")
        found = np.asarray(method.execute([samples[2][0].numpy()])[0])
        assert np.abs(found - expected).max() / np.abs(expected).max() < 0.05


@pytest.mark.usefixtures("openvino_library")
def test_floats_stay_floats_where_weights_are_integers():
    """OpenVINO would quantize what it multiplies them with in each run."""
    seed()
    program = flambeau.quantize((nn.Linear(64, 64).eval(), (torch.randn(4, 64),)), None, "w8").program
    x = torch.randn(4, 64)
    method = Runtime.get().load_program(bytes(to_edge(program).to_backend("openvino").to_executorch().buffer)).load_method("forward")
    found = np.asarray(method.execute([x.numpy()])[0])
    np.testing.assert_allclose(found, program.module()(x).detach().numpy(), rtol=1e-4, atol=1e-5)


def delegate_of(data: bytes) -> bytes:
    """The payload of a program's only call."""
    (delegate,) = read_program(data).execution_plan[0].delegates
    return bytes(delegate.processed)


def payload_of(data: bytes, context: FlambeauContext) -> ModuleOp:
    return decode(memoryview(delegate_of(data)), {}, context.blobs)


FLOATS, INTEGERS, PART = "tensor<2x3x4xf32>", "tensor<2x3x4xui8>", "tensor<2x4xf32>"
NUMBERS = "{scale = 0.023, zero_point = 128, quant_min = 0, quant_max = 255, dtype = ui8}"
ROUNDED = f"""%c = quantized_decomposed.quantize_per_tensor(%x) {NUMBERS} : ({FLOATS}) -> {INTEGERS}
  %d = quantized_decomposed.dequantize_per_tensor(%c) {NUMBERS} : ({INTEGERS}) -> {FLOATS}"""
PROGRAMS = {
    "limits": (f"%r = edge.hardtanh(%d) : ({FLOATS}) -> {FLOATS}", FLOATS),
    "mean": (f"%r = edge.mean.dim(%d) {{dim = [1]}} : ({FLOATS}) -> {PART}", PART),
    "sum": (f"%r = edge.sum.dim_IntList(%d) {{dim = [1]}} : ({FLOATS}) -> {PART}", PART),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.usefixtures("openvino_library")
def test_what_openvino_would_compute_otherwise_in_integers_is_apart(name: str):
    context, (lines, kind) = FlambeauContext(), PROGRAMS[name]
    body = f"{ROUNDED}\n  {lines}\n  func.return %r : {kind}"
    module = parse_module(f"func.func @forward(%x: {FLOATS}) -> {kind} {{\n  {body}\n}}", context).module
    program = interpret(module.clone(), context)
    Pipeline.parse("delegate{backends=openvino},legalize,edge-to-exec,plan").run(module, context)
    data = b"".join(emit_pte(module, context))
    assert len(read_program(data).execution_plan[0].delegates) == 1
    method = Runtime.get().load_program(data).load_method("forward")
    x = np.random.default_rng(0).uniform(-3, 3, (2, 3, 4)).astype(np.float32)
    np.testing.assert_allclose(np.asarray(method.execute([x])[0]), np.asarray(program.run("forward", [x])[0]), rtol=1e-4, atol=1e-5)


BEFORE = f"""%n = edge.neg(%d) : ({FLOATS}) -> {FLOATS}
  %r = edge.amin(%n) {{dim = [1]}} : ({FLOATS}) -> {PART}"""
BEHIND = f"""%r = edge.amin(%x) {{dim = [1]}} : ({FLOATS}) -> {PART}
  %l = edge.relu(%r) : ({PART}) -> {PART}
  %i = quantized_decomposed.quantize_per_tensor(%l) {NUMBERS} : ({PART}) -> {PART.replace("f32", "ui8")}"""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"%r = edge.amax(%d) {{dim = [1]}} : ({FLOATS}) -> {PART}", "it is next to quantized numbers"),
        (f"%r = edge.amin(%x) {{dim = [1]}} : ({FLOATS}) -> {PART}", None),
        (BEFORE, "it is next to quantized numbers"),
        (BEHIND, "it is next to quantized numbers"),
    ],
)
def test_extremes_of_quantized_numbers_stay(text: str, reason: str | None):
    module = parse_module(
        f"func.func @forward(%x: {FLOATS}) -> {PART} {{\n  {ROUNDED}\n  {text}\n  func.return %r : {PART}\n}}", FlambeauContext()
    ).module
    (extreme,) = (op for op in module.walk() if op.name in ("edge.amax", "edge.amin"))
    assert Partitioner("openvino").table.why_not(extreme) == reason


@pytest.mark.parametrize(("x", "reason"), [("%c", "it multiplies constants"), ("%x", None)])
def test_products_of_constants_stay(x: str, reason: str | None):
    """OpenVINO would add to the product from call to call."""
    matrix = "tensor<2x2xf32>"
    module = parse_module(
        f"""ml_program.global private @c(dense<1.0> : {matrix}) : {matrix}
func.func @forward(%x: {matrix}, %b: tensor<2xf32>) -> {matrix} {{
  %c = ml_program.global_load_const @c : {matrix}
  %r = edge.linear({x}, %c, %b) : ({matrix}, {matrix}, tensor<2xf32>) -> {matrix}
  func.return %r : {matrix}
}}""",
        FlambeauContext(),
    ).module
    (layer,) = (op for op in module.walk() if op.name == "edge.linear")
    assert Partitioner("openvino").table.why_not(layer) == reason
