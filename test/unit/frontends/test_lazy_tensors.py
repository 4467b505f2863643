"""Tensors that PyTorch negates or conjugates only when they are read, as constants of programs on every path, and as inputs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch_programs import seed

from flambeau import BundledProgram as Bundle
from flambeau import ExecutorchBackendConfig, MethodTestCase, MethodTestSuite, quantize, to_edge, to_edge_transform_and_lower
from flambeau.runtime import BundledModule, Runtime

seed()
negated: Callable[[torch.Tensor], torch.Tensor] = vars(torch)["_neg_view"]
"""What PyTorch makes of imaginary parts of conjugates."""
REAL = torch.randn(4)
COMPLEX = torch.randn(4, dtype=torch.complex64)
LAZY: dict[str, Callable[[], torch.Tensor]] = {
    "negated": lambda: negated(REAL),
    "negated and strided": lambda: COMPLEX.conj().imag,
    "conjugated": lambda: COMPLEX.conj(),
    "both": lambda: negated(COMPLEX.conj()),
}


class Adds(torch.nn.Module):
    """Adds a tensor, and another one in the same memory."""

    def __init__(self, lazy: torch.Tensor):
        super().__init__()
        self.lazy: torch.Tensor
        self.plain: torch.Tensor
        self.register_buffer("lazy", lazy)
        self.register_buffer("plain", lazy.conj() if lazy.is_conj() else negated(lazy))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        return x + self.lazy, x + self.plain


def exported(name: str) -> tuple[Any, tuple[torch.Tensor, ...], tuple[torch.Tensor, ...]]:
    model = Adds(LAZY[name]())
    inputs = (torch.zeros(4, dtype=model.lazy.dtype),)
    return torch.export.export(model, inputs), inputs, model(*inputs)


def check(program: Any, inputs: tuple[torch.Tensor, ...], expected: tuple[torch.Tensor, ...], **files: Any) -> None:
    found = Runtime.get().load_program(program.buffer, **files).load_method("forward").execute(inputs)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs.resolve_conj().resolve_neg().numpy())


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_constant_is_a_constant(name: str, tmp_path: Path) -> None:
    program, inputs, expected = exported(name)
    check(to_edge(program).to_executorch(), inputs, expected)
    external = to_edge(program).to_executorch(ExecutorchBackendConfig(external_constants=True))
    external.write_tensor_data_to_file(tmp_path)
    check(external, inputs, expected, data_path=[*tmp_path.glob("*.ptd")])


@pytest.mark.parametrize("name", [name for name in LAZY if LAZY[name]().dtype == torch.float32])
def test_a_lazy_constant_of_a_quantized_or_delegated_program(name: str) -> None:
    program, inputs, expected = exported(name)
    check(to_edge_transform_and_lower(program, partitioner=["elementwise"]).to_executorch(), inputs, expected)
    quantized = quantize(program, [(torch.randn(4),) for _ in range(4)])
    found = Runtime.get().load_program(to_edge(quantized.program).to_executorch().buffer).load_method("forward").execute(inputs)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(ours, theirs.resolve_neg().numpy(), atol=0.1)


@pytest.mark.parametrize("name", LAZY)
def test_a_lazy_input_is_what_pytorch_reads(name: str, tmp_path: Path) -> None:
    x = LAZY[name]()
    program = to_edge(torch.export.export(Doubles(), (torch.zeros_like(x).contiguous(),))).to_executorch()
    check(program, (x,), (x + x,))
    Bundle(program, [MethodTestSuite("forward", [MethodTestCase((x,), x + x)])]).save(tmp_path / "lazy.bpte")
    assert [result.passed for result in BundledModule(tmp_path / "lazy.bpte").verify(rtol=0, atol=0)] == [True]


class Doubles(torch.nn.Module):
    """Adds its input to itself."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + x
