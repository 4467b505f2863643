"""Operators on quantised tensors have one meaning in PyTorch, in numpy, in our runtime and in stock ExecuTorch."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch
from executorch import runtime as executorch_runtime
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import XNNPACKQuantizer, get_symmetric_quantization_config
from torch_programs import seed
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.out_variants import out_variant
from flambeau.dialects.schema.row_table import load_rows
from flambeau.dialects.schema.schema import Schema, parse_schema
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.targets.interface import find_target, target_names
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

import_module("executorch.kernels.quantized")  # adds them to stock ExecuTorch's
import_module("executorch.exir.passes._quant_patterns_and_replacements")  # declares them to PyTorch
peer: Any = executorch_runtime
ops: Any = torch.ops.quantized_decomposed
libraries: Any = torch.library
compiled: Any = import_module("torch._C")


def _mixed_mm(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, _: None) -> torch.Tensor:
    return x @ (weight.to(x.dtype) * scales[:, None])


def _mixed_linear(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor, _: None, dtype: torch.dtype | None = None) -> torch.Tensor:
    groups = weight.float().view(weight.shape[0], scales.shape[1] if scales.dim() == 2 else 1, -1)
    scaled = groups * scales.float().view(weight.shape[0], -1, 1)
    return (x.float() @ scaled.reshape(weight.shape).T).to(dtype or x.dtype)


def _add(a: torch.Tensor, a_scale: float, a_zero: int, _0: int, _1: int, b: torch.Tensor, b_scale: float, b_zero: int, *rest: Any) -> Any:
    _, _, scale, zero, low, high = rest
    total = (a.float() - a_zero) * a_scale + (b.float() - b_zero) * b_scale
    return (torch.round(total * (1 / scale)) + zero).clamp(low, high).to(a.dtype)


@pytest.fixture
def meanings() -> Iterator[None]:
    """What operators compute that PyTorch has only the declarations of."""
    with libraries._scoped_library("quantized_decomposed", "IMPL") as library:
        for name, meaning in (("mixed_mm", _mixed_mm), ("mixed_linear", _mixed_linear), ("add", _add)):
            library.impl(name, meaning, "CompositeExplicitAutograd")
        yield


class Call(torch.nn.Module):
    """A function with constants."""

    def __init__(self, function: Callable[..., torch.Tensor], *constants: torch.Tensor):
        super().__init__()
        self.function = function
        for place, constant in enumerate(constants):
            self.register_buffer(f"constant{place}", constant)
        self.count = len(constants)

    def forward(self, *inputs: torch.Tensor) -> torch.Tensor:
        return self.function(*inputs, *(getattr(self, f"constant{place}") for place in range(self.count)))


def bytes_of(*shape: int, dtype: torch.dtype = torch.uint8) -> torch.Tensor:
    low = 0 if dtype == torch.uint8 else -128
    return torch.randint(low, low + 256, shape, dtype=dtype)


def table(bits: str, dtype: torch.dtype | None) -> Callable[[torch.Tensor, torch.Tensor, torch.Tensor], torch.Tensor]:
    """The embedding from a table with groups of scales."""
    operator, width = getattr(ops, f"embedding_{bits}"), {"2bit": 2, "4bit": 4, "byte": 8}[bits]
    low, high = (0, 255) if bits == "byte" else (-(2 ** (width - 1)), 2 ** (width - 1) - 1)

    def rows(indices: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
        if dtype is None:
            return operator.default(weight, scales, None, low, high, indices)
        return operator.dtype(weight, scales, None, low, high, indices, dtype=dtype)

    return rows


def by_matrix(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return ops.mixed_mm(x, weight, scales, None)


def by_transposed_matrix(x: torch.Tensor, weight: torch.Tensor, scales: torch.Tensor) -> torch.Tensor:
    return ops.mixed_linear(x, weight, scales, None)


def quantized_sum(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return ops.add(a, 0.02, 3, 0, 255, b, 0.05, 9, 0, 255, 0.03, 5, 0, 255)


PROGRAMS: dict[str, Callable[[], tuple[torch.nn.Module, tuple[torch.Tensor, ...]]]] = {
    **{
        f"embedding_{bits}{'' if dtype is None else '.dtype'}": lambda bits=bits, dtype=dtype: (
            Call(table(bits, dtype), bytes_of(6, 8), torch.rand(6, 2)),
            (torch.tensor([[5, 0, 3]]),),
        )
        for bits in ("2bit", "4bit", "byte")
        for dtype in (None, torch.float16)
    },
    "mixed_mm": lambda: (
        Call(by_matrix, bytes_of(37, 21, dtype=torch.int8), torch.rand(37)),
        (torch.randn(3, 37),),
    ),
    "mixed_linear": lambda: (
        Call(by_transposed_matrix, bytes_of(21, 36, dtype=torch.int8), torch.rand(21, 3)),
        (torch.randn(3, 36),),
    ),
    "mixed_linear in half": lambda: (
        Call(by_transposed_matrix, bytes_of(21, 36, dtype=torch.int8), (torch.rand(21) / 100).half()),
        (torch.randn(3, 36).half(),),
    ),
    "add": lambda: (
        Call(quantized_sum),
        (bytes_of(3, 40), bytes_of(3, 40)),
    ),
}


def results(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], operator: str) -> dict[str, torch.Tensor]:
    """What each engine makes of a program with the operator; both targets in our engines."""
    context = FlambeauContext()
    imported = export_module(module, inputs, context)
    assert any(op.name == operator for op in imported.walk())
    arrays = [tensor.numpy() for tensor in inputs]
    found: dict[str, Any] = {"numpy": interpret(imported, context).run("forward", arrays)[0]}
    for target in ("flambeau", "executorch"):
        compilation = Compilation(imported.clone(), context, PipelineOptions(target=target))
        program = compilation.emit()
        found[f"numpy of {target}"] = interpret(compilation.module, context).run("forward", arrays)[0]
        found[target] = Runtime.get().load_program(program).load_method("forward").execute(arrays)[0]
    loaded = peer.Runtime.get().load_program(program, verification=peer.Verification.InternalConsistency)
    found["stock"] = loaded.load_method("forward").execute(list(inputs))[0]
    return {engine: torch.as_tensor(np.asarray(value)) for engine, value in found.items()}


@pytest.mark.usefixtures("meanings")
@pytest.mark.parametrize("name", PROGRAMS)
def test_engines_agree_on_a_program_with_the_operator(name: str) -> None:
    seed()
    module, inputs = PROGRAMS[name]()
    found = results(module, inputs, f"quantized_decomposed.{name.split()[0]}")
    expected = module(*inputs)
    for engine, actual in found.items():
        bound = 1e-2 if expected.dtype == torch.float16 else 1e-4
        torch.testing.assert_close(actual, expected, rtol=bound, atol=bound, msg=lambda text, of=engine: f"{of}: {text}")


@pytest.mark.parametrize("is_per_channel", [False, True])
def test_engines_agree_on_a_model_that_torchao_quantized_dynamically(is_per_channel: bool) -> None:
    seed()
    inputs = (torch.randn(3, 16),)
    network = torch.nn.Sequential(torch.nn.Linear(16, 32), torch.nn.ReLU(), torch.nn.Linear(32, 5)).eval()
    config = get_symmetric_quantization_config(is_per_channel=is_per_channel, is_dynamic=True)
    prepared: Any = prepare_pt2e(torch.export.export(network, inputs).module(), XNNPACKQuantizer().set_global(config))
    prepared(*inputs)
    quantized = convert_pt2e(prepared)
    for factor in (1, 7):  # the second range is not the one that the observers saw
        given = (inputs[0] * factor,)
        expected = quantized(*given).detach()
        for engine, actual in results(quantized, given, "quantized_decomposed.quantize_per_tensor.tensor").items():
            torch.testing.assert_close(actual, expected, rtol=1e-4, atol=1e-4, msg=lambda text, of=engine: f"{of}: {text}")


def signature(schema: Schema) -> list[tuple[str, str]]:
    """The arguments without the outs."""
    return [(argument.name, argument.type.base) for argument in schema.arguments if argument not in schema.outs]


def test_kernels_are_called_by_the_names_that_executorch_declares() -> None:
    declared = [parse_schema(str(schema)) for schema in compiled._jit_get_all_schemas() if schema.name.startswith("quantized_decomposed::")]
    rows = load_rows()["quantized_decomposed"].values()
    called = {row.schema.name: out.qualified_name for row in rows if (out := out_variant(row.schema)) is not None}
    theirs = {
        row.schema.name: out.qualified_name
        for row in rows
        for out in declared
        if out.outs and out.base == row.schema.base and signature(out) == signature(row.schema)
    }
    assert len(theirs) > 15
    assert {name: called[name] for name in theirs} == theirs


@pytest.mark.parametrize("target", target_names())
def test_every_kernel_of_a_target_is_one_that_programs_call(target: str) -> None:
    """The rows say it, but for ATen's kernels, whose names are in ATen's table, and those of memory layouts, which the passes choose."""
    rows = [row for dialect, rows in load_rows().items() if dialect not in ("aten", "edge") for row in rows.values()]
    called = {out.qualified_name for row in rows if (out := out_variant(row.schema)) is not None}
    namespaces = {row.schema.namespace for row in rows}
    kernels = {name for name in find_target(target).operators if name.partition("::")[0] in namespaces}
    assert len(kernels) > 15
    assert kernels - called == set()
