"""What the importer makes of each construct of an exported program."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.utils import _pytree as pytree
from torch_programs import Function, body, check, export, imported, seed, text_of, unary
from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp

from flambeau.dialects.flambeau.method_interface import Leaf, inputs_of, outputs_of
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import CaptureError, export_module, import_program, load
from flambeau.frontends.torch_export.evaluate import AtenProgram, EvaluationError, run_aten

seed()


def method(program: Any, name: str = "forward") -> FuncOp:
    module, _ = imported(program)
    return next(op for op in module.walk() if isinstance(op, FuncOp) and op.sym_name.data == name)


# --- operands and attributes


def test_operators_keep_their_arguments_and_drop_defaults() -> None:
    text = check(lambda x, w: F.conv2d(x, w, None, stride=2, padding=1), torch.randn(1, 2, 5, 5), torch.randn(3, 2, 3, 3))
    assert "aten.conv2d(%x, %w, none) {stride = [2, 2], padding = [1, 1]} : (tensor<1x2x5x5xf32>, tensor<3x2x3x3xf32>)" in text


def test_a_number_in_a_tensor_position_takes_the_scalar_overload() -> None:
    text = check(unary(lambda x: x + 1e-5 - 2 * x), torch.randn(3))
    assert "aten.add.Scalar(%x) {other = 1.0e-05}" in text
    assert "aten.mul.Scalar(%x) {other = 2}" in text


@pytest.mark.parametrize(
    ("x", "number", "full"),
    [
        (torch.randn(3), 0.1, "fill_value = 0.1, dtype = f32"),
        (torch.randn(3, dtype=torch.float64), 0.1, "fill_value = 0.1, dtype = f64"),
        (torch.randn(3, dtype=torch.float16), 2, "fill_value = 2, dtype = i64"),
        (torch.arange(3, dtype=torch.int32), 2, "fill_value = 2, dtype = i32"),
        (torch.tensor([True, False]), True, "fill_value = true, dtype = i1"),
    ],
)
def test_a_number_without_a_scalar_overload_becomes_a_tensor(x: Tensor, number: float, full: str) -> None:
    program = export(lambda x, y: torch.maximum(x, y), x, x)
    for node in program.graph.nodes:
        if node.op == "call_function":
            node.args = (node.args[0], number)
    ir, context = imported(program)
    assert full in body(ir)
    (actual,) = run_aten(ir, context, [x, x])
    assert torch.equal(actual, torch.maximum(x, torch.tensor(number, dtype=x.dtype)))


def test_tensor_lists_and_several_results() -> None:
    text = check(unary(lambda x: (torch.cat([x, x]), *torch.split(x, 2), *torch.max(x, 0))), torch.randn(4, 3))
    assert "aten.cat([%x, %x]) : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<8x3xf32>" in text
    assert "%split, %split_1 = aten.split.Tensor(%x) {split_size = 2}" in text
    assert "%max, %max_1 = aten.max.dim(%x) {dim = 0}" in text


def test_lists_of_optional_tensors() -> None:
    text = check(lambda x, i: x[:, i], torch.randn(3, 4), torch.tensor([2, 0]))
    assert "aten.index.Tensor(%x, [none, %i])" in text


def test_dtypes_devices_and_memory_formats() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return (
            x.to(torch.float64),
            x.to("cpu"),
            x.clone(memory_format=torch.contiguous_format),
            torch.zeros(2, dtype=torch.bool, device="cpu"),
        )

    text = check(function, torch.randn(2))
    assert "{dtype = f64}" in text
    assert 'memory_format = "contiguous"' in text
    assert "dtype = i1" in text
    assert "device" not in text and "pin_memory" not in text


@pytest.mark.parametrize(
    "dtype", [torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64, torch.float16, torch.bfloat16, torch.float64]
)
def test_every_element_type_passes(dtype: torch.dtype) -> None:
    class Model(nn.Module):
        table: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("table", torch.randint(0, 2, (3, 2)).to(dtype))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return self.table, torch.cat([self.table, x])

    check(Model(), torch.randint(0, 2, (1, 2)).to(dtype))


def test_infinities_are_attributes() -> None:
    text = check(unary(lambda x: torch.masked_fill(x, x > 0, float("-inf"))), torch.randn(3))
    assert 'value = "-inf"' in text


def test_empty_and_zero_dimensional_tensors() -> None:
    class Model(nn.Module):
        empty: Tensor
        scalar: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("empty", torch.zeros(0, 3))
            self.register_buffer("scalar", torch.tensor(2.5))

        def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
            return torch.cat([self.empty, x]), x * self.scalar

    check(Model(), torch.randn(2, 3))


# --- what is left out


def test_checks_that_hold_and_dead_values_vanish() -> None:
    def function(x: Tensor) -> Tensor:
        cast(Any, torch)._assert(x.shape[0] == 3, "three")
        x.sin()
        return x.to(torch.float32).cos()

    text = check(function, torch.randn(3))
    assert "assert" not in text and "sin" not in text
    assert "aten.cos" in text


def test_checks_of_data_stay() -> None:
    def function(x: Tensor) -> Tensor:
        torch.ops.aten._assert_async.msg((x > -100).all(), "large")
        return x.cos()

    text = str(import_program(export(function, torch.randn(3)), FlambeauContext()))
    assert "cf.assert" in text and '"large"' in text


def test_no_grad_and_disabled_autocast_regions_are_opened() -> None:
    def function(x: Tensor) -> Tensor:
        with torch.no_grad():
            y = x.sin()
        with torch.autocast("cpu", enabled=False):
            z, w = y.cos(), y + 1
        return z * w

    with torch.enable_grad():
        program = torch.export.export(Function(function), (torch.randn(3),), strict=False)
    ir, context = imported(program)
    x = torch.randn(3)
    (actual,) = run_aten(ir, context, [x])
    assert torch.equal(actual, function(x))
    assert "aten.cos" in body(ir) and "aten.sin" in body(ir)


# --- inputs and outputs


def test_constant_inputs_are_leaves_without_arguments() -> None:
    def model(x: Tensor, scale: int, offset: float = 0.5, flag: bool = True, mode: str = "a", rest: Any = None) -> Tensor:
        return x * scale + offset

    function = method(export(cast(Any, model), torch.randn(2), 3, offset=1.5, flag=False, mode="b", rest=None))
    assert inputs_of(function) == (
        Leaf("x"),
        Leaf("scale", False, 3),
        Leaf("offset", False, 1.5),
        Leaf("flag", False, False),
        Leaf("mode", False, "b"),
        Leaf("rest", False, None),
    )
    assert len(function.body.block.args) == 1


@dataclass
class Record:
    logits: Tensor
    states: list[Tensor]


class Pair(NamedTuple):
    first: Tensor
    second: dict[str, Tensor]


torch.export.register_dataclass(Record, serialized_type_name="test_torch_export_import.Record")


NESTINGS: list[tuple[Callable[[Tensor], Any], list[str]]] = [
    (lambda x: x, ["output"]),
    (lambda x: (x,), ["output_0"]),
    (lambda x: [x, (x + 1, x + 2)], ["output_0", "output_1_0", "output_1_1"]),
    (lambda x: {"a": x, "b": [x + 1]}, ["a", "b.0"]),
    (lambda x: Pair(x, {"k": x + 1}), ["first", "second.k"]),
    (lambda x: Record(x, [x + 1, x + 2]), ["logits", "states.0", "states.1"]),
]


@pytest.mark.parametrize(("make", "names"), NESTINGS)
def test_outputs_are_named_by_their_place(make: Callable[[Tensor], Any], names: list[str]) -> None:
    check(make, torch.randn(2))
    assert [leaf.name for leaf in outputs_of(method(export(make, torch.randn(2))))] == names


def test_constant_outputs_stand_in_the_list() -> None:
    function = method(export(unary(lambda x: (x, None, 3, 2.5, True)), torch.randn(2)))
    assert outputs_of(function) == (
        Leaf("output_0"),
        Leaf("output_1", False, None),
        Leaf("output_2", False, 3),
        Leaf("output_3", False, 2.5),
        Leaf("output_4", False, True),
    )
    assert len(function.function_type.outputs) == 1


def test_tree_specs_are_kept() -> None:
    program = export(unary(lambda x: {"a": x, "b": (x,)}), torch.randn(2))
    function = method(program)
    for key, spec in (("flambeau.in_spec", program.call_spec.in_spec), ("flambeau.out_spec", program.call_spec.out_spec)):
        text = function.attributes[key]
        assert isinstance(text, StringAttr)
        assert pytree.treespec_loads(text.data) == spec
        assert json.loads(text.data)


def test_one_tensor_twice_an_input_a_parameter_and_a_constant_as_outputs() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.randn(2))

        def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
            z = x + y
            return z, z, x, self.weight, torch.tensor([1.0, 2.0])

    text = check(Model(), torch.randn(2), torch.randn(2))
    assert "func.return %add, %add, %x, %weight, " in text


def test_an_unused_input_stays_an_argument() -> None:
    assert len(method(export(lambda x, y: x + 1, torch.randn(2), torch.randn(3))).body.block.args) == 2


def test_a_channels_last_input_says_so() -> None:
    x = torch.randn(1, 3, 4, 5).to(memory_format=torch.channels_last)
    function = method(export(unary(lambda x: F.relu(x)), x))
    assert str(function.function_type.inputs.data[0]) == "tensor<1x3x4x5xf32, #edge.layout<[0, 2, 3, 1]>>"
    check(unary(lambda x: F.relu(x)), x)


# --- weights


class Weighted(nn.Module):
    scale: Tensor
    offset: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 2)
        self.register_buffer("scale", torch.randn(2))
        self.register_buffer("offset", torch.randn(2), persistent=False)
        self.unused = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) * self.scale + self.offset + torch.tensor([1.0, 2.0])


def test_parameters_buffers_and_constants_are_globals_under_their_names() -> None:
    text = check(Weighted(), torch.randn(4, 3))
    for name in ("linear.weight", "linear.bias", "scale", "offset", "lifted_tensor_0"):
        assert f'ml_program.global private @{name}(#flambeau.blob<"{name}"' in text
    assert "unused" not in text
    assert "%linear_weight = ml_program.global_load_const @linear.weight : tensor<2x3xf32>" in text


def test_weights_are_views_of_the_models_tensors() -> None:
    model = Weighted()
    ir, context = imported(export(model, torch.randn(4, 3)))
    found = next(op for op in ir.walk() if isinstance(op, GlobalOp) and op.sym_name.data == "linear.weight")
    with torch.no_grad():
        model.linear.weight.fill_(7)
    # The bytes no longer have the digest, but the store was given a view, not a copy.
    assert torch.frombuffer(bytearray(context.blobs.get(found.blob)), dtype=torch.float32).eq(7).all()


def test_tied_parameters_share_their_bytes() -> None:
    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(5, 3)
            self.head = nn.Linear(3, 5, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, ids: Tensor) -> Tensor:
            return self.head(self.embedding(ids))

    ir, _ = imported(export(Model(), torch.tensor([1, 2])))
    blobs = {op.blob for op in ir.walk() if isinstance(op, GlobalOp)}
    assert len(blobs) == 1


def test_a_permuted_weight_is_stored_row_major() -> None:
    model = cast(Any, nn.Conv2d(3, 4, 3)).to(memory_format=torch.channels_last)
    check(model.eval(), torch.randn(1, 3, 5, 5), tolerance=1e-6)


def test_a_weight_named_as_the_method_gets_another_symbol() -> None:
    class Model(nn.Module):
        main: Tensor

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("main", torch.ones(2))

        def forward(self, x: Tensor) -> Tensor:
            return x + self.main

    context = FlambeauContext()
    module = import_program(export(Model(), torch.randn(2)), context, name="main")
    module.verify()
    assert run_aten(module, context, [torch.zeros(2)], "main")[0].eq(1).all()


# --- places in the model


def test_values_are_named_after_the_graphs_nodes() -> None:
    assert "%relu = aten.relu(%x)" in check(unary(lambda x: F.relu(x)), torch.randn(2))


# --- several methods, files


class TwoMethods(nn.Module):
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return self.linear(x)


class Reader(nn.Module):
    count: Tensor

    def __init__(self, other: TwoMethods):
        super().__init__()
        self.linear = other.linear
        self.register_buffer("count", other.count)

    def forward(self, x: Tensor) -> Tensor:
        return self.linear(x) + self.count


def test_methods_share_weights_and_state() -> None:
    model = TwoMethods()
    x = torch.randn(2, 3)
    ir, context = imported({"step": export(model, x), "read": export(Reader(model), x)})
    text = body(ir)
    assert text.count("ml_program.global private") == 3
    assert "ml_program.global private mutable @count" in text
    program = AtenProgram(ir, context)
    program.run([x], "step")
    program.run([x], "step")
    torch.testing.assert_close(program.run([x], "read")[0], model.linear(x) + 2)


def test_methods_of_different_models_do_not_share() -> None:
    x = torch.randn(2, 3)
    first, second = TwoMethods(), TwoMethods()
    ir, context = imported({"first": export(first, x), "second": export(second, x)})
    assert body(ir).count("ml_program.global private") == 6
    program = AtenProgram(ir, context)
    torch.testing.assert_close(program.run([x], "second")[0], second.linear(x))


def test_a_pt2_file_gives_the_same_module(tmp_path: Path) -> None:
    program = export(Weighted(), torch.randn(4, 3))
    torch.export.save(program, tmp_path / "model.pt2")
    first, _ = imported(program)
    second, _ = imported(load(tmp_path / "model.pt2"))
    assert text_of(first, locations=True) == text_of(second, locations=True)


@pytest.mark.parametrize("content", [None, b"", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_a_bad_file_is_a_one_line_error(tmp_path: Path, content: bytes | None) -> None:
    path = tmp_path / "model.pt2"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ValueError, match=r"model\.pt2") as caught:
        load(path)
    assert "\n" not in str(caught.value)


def test_what_torch_cannot_capture_is_a_one_line_error() -> None:
    def function(x: Tensor) -> Tensor:
        if x.sum() > 0:
            return x
        raise RuntimeError("negative\nsum")

    with pytest.raises(CaptureError, match=r"torch\.export cannot capture Function, at \S+test_torch_export_import.py:\d+: ") as caught:
        export_module(Function(function), (torch.randn(3),), FlambeauContext())
    assert "\n" not in str(caught.value)


def test_export_module_exports_and_imports() -> None:
    context = FlambeauContext()
    model, x = Weighted(), torch.randn(4, 3)
    module = export_module(model, (x,), context, name="main")
    module.verify()
    (actual,) = run_aten(module, context, [x], "main")
    assert torch.equal(actual, model(x))


# --- the engine


def test_the_engine_rejects_what_does_not_fit() -> None:
    ir, context = imported(export(unary(lambda x: x + 1), torch.randn(2)))
    with pytest.raises(EvaluationError, match="takes 1 tensors, got 2"):
        run_aten(ir, context, [torch.randn(2), torch.randn(2)])
    with pytest.raises(
        EvaluationError, match=r"input 'x' of forward must be torch.float32 of shape \[2\], got torch.float32 of shape \[3\]"
    ):
        run_aten(ir, context, [torch.randn(3)])
    with pytest.raises(EvaluationError, match="no method 'backward'; it has forward"):
        run_aten(ir, context, [torch.randn(2)], "backward")


# --- quantised operators


def test_quantised_operators_are_rows_of_the_quant_dialect() -> None:
    importlib.import_module("torch.ao.quantization.fx._decomposed")

    operators = cast(Any, torch.ops).quantized_decomposed

    def function(x: Tensor) -> Tensor:
        q = operators.quantize_per_tensor(x, 0.1, 3, -128, 127, torch.int8)
        return operators.dequantize_per_tensor(q, 0.1, 3, -128, 127, torch.int8)

    text = check(function, torch.randn(3))
    assert "quantized_decomposed.quantize_per_tensor(" in text and "quantized_decomposed.dequantize_per_tensor(" in text


def test_a_branch_on_data_is_refused_in_one_line(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def branching(x: Tensor) -> Tensor:
        return x + 1 if x.sum() > 0 else x - 1

    capfd.readouterr()
    with pytest.raises(CaptureError) as caught:
        export_module(Function(branching), (torch.ones(3),), FlambeauContext())
    assert str(caught.value).endswith(
        ": Could not guard on data-dependent expression Eq(u0, 1); torch.cond or torch.where computes by what a tensor holds"
    )
    printed = capfd.readouterr()
    assert "def forward" not in printed.out + printed.err
    monkeypatch.setenv("FLAMBEAU_DEBUG", "1")
    with pytest.raises(CaptureError):
        export_module(Function(branching), (torch.ones(3),), FlambeauContext())
    assert "def forward" in capfd.readouterr().err
