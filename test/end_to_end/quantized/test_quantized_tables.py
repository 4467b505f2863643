"""Embeddings from quantized tables: only the rows that are taken become floats, and they are the quantized model's."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, cast

import numpy as np
import pytest
import torch
from quantized_programs import compiled_for, large_floats, ops, tensor_of, unwrap_tensor_subclass
from torch import Tensor, nn
from torch_programs import seed
from torchao.quantization import quantize_

from flambeau.dialects.aten.indexing.embedding import EmbeddingOp
from flambeau.dialects.ir.tensor_types import element_of, i8
from flambeau.dialects.quantized_decomposed.embedding import EmbeddingByteOp
from flambeau.runtime import Runtime

ROWS, COLUMNS = 2000, 96
torchao: Any = import_module("torchao.quantization")
granularities: Any = import_module("torchao.quantization.granularity")


class Table(nn.Module):
    """An embedding whose table is dequantized."""

    def __init__(self, dequantize: Callable[[Tensor, Tensor, Tensor], Tensor], shape: tuple[int, ...]):
        super().__init__()
        rng = np.random.default_rng(0)
        self.register_buffer("integers", tensor_of(rng.integers(-128, 128, (ROWS, COLUMNS)).astype(np.int8)))
        self.register_buffer("scales", tensor_of(rng.uniform(0.01, 0.1, shape).astype(np.float32)))
        self.register_buffer("zeros", tensor_of(rng.integers(-9, 9, shape)))
        self.dequantize = dequantize

    def forward(self, indices: Tensor) -> Tensor:
        """embedding(dequantize(integers), indices)"""
        parts = (cast(Tensor, item) for item in (self.integers, self.scales, self.zeros))
        return nn.functional.embedding(indices, self.dequantize(*parts))


def of_torchao(dtype: torch.dtype, granularity: Any) -> nn.Module:
    """An embedding that torchao quantized."""
    model = nn.Sequential(nn.Embedding(ROWS, COLUMNS)).eval()
    config = torchao.IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity)
    quantize_(model, config, lambda module, _: isinstance(module, nn.Embedding))
    unwrap_tensor_subclass(model)
    return model


def by_tensor(x: Tensor, _: Tensor, __: Tensor) -> Tensor:
    return ops.dequantize_per_tensor(x, 0.03, 5, -128, 127, torch.int8)


def by_row(x: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    return ops.dequantize_per_channel(x, scales, zeros, 0, -128, 127, torch.int8)


def by_column(x: Tensor, scales: Tensor, zeros: Tensor) -> Tensor:
    return ops.dequantize_per_channel(x, scales, zeros, 1, -128, 127, torch.int8)


MODELS: dict[str, Callable[[], nn.Module]] = {
    "torchao, int8": lambda: of_torchao(torch.int8, granularities.PerAxis(0)),
    "torchao, int4 in groups": lambda: of_torchao(cast(Any, torch).int4, granularities.PerGroup(32)),
    "per tensor": lambda: Table(by_tensor, ()),
    "per row": lambda: Table(by_row, (ROWS,)),
    "per column": lambda: Table(by_column, (COLUMNS,)),
}


@pytest.mark.parametrize("shape", [(7,), (2, 3), ()])
@pytest.mark.parametrize("name", MODELS)
def test_rows_are_taken_from_integers(name: str, shape: tuple[int, ...]):
    seed()
    model, inputs = MODELS[name](), (torch.randint(0, ROWS, shape),)
    module, _, data = compiled_for("flambeau", torch.export.export(model, inputs), "fuse-quantized,remove-dead-code")
    tables = [op.operands[0] for op in module.walk() if isinstance(op, EmbeddingOp | EmbeddingByteOp)]
    assert i8 in {element_of(table) for table in tables}
    assert large_floats(module, ROWS * COLUMNS // 16) == []
    program = Runtime.get().load_program(data)
    assert len(data) < ROWS * COLUMNS * 4 / 3
    (found,) = program.load_method("forward").execute([inputs[0].numpy()])
    np.testing.assert_array_equal(np.asarray(found), model(*inputs).detach().numpy())


def test_an_embedding_of_any_number_of_rows_takes_them_from_integers():
    model, length = Table(by_row, (ROWS,)), torch.export.Dim("length", min=2, max=64)
    program = torch.export.export(model, (torch.arange(5)[None],), dynamic_shapes=({1: length},))
    _, _, data = compiled_for("flambeau", program, "fuse-quantized")
    method = Runtime.get().load_program(data).load_method("forward")
    for count in (2, 41):
        indices = torch.randint(0, ROWS, (1, count))
        (found,) = method.execute([indices.numpy()])
        np.testing.assert_array_equal(np.asarray(found), model(indices).numpy())
