"""Weights of 4 bits in blocks: stored in 4 bits, read back, and multiplied with floats by ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
import torch
from onnx_judge import onnxruntime
from test_onnxruntime_payload import payloads
from torch import Tensor, nn
from torch_programs import seed
from vendor_tools import installed

from flambeau import to_edge
from flambeau.backends.onnxruntime.decode import decode
from flambeau.backends.onnxruntime.label import LABEL_BYTES, labelled, unlabelled
from flambeau.backends.onnxruntime.messages import NARROW, read
from flambeau.dialects.ir.tensor_types import i8, ui8
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.delegation.interface import BackendError
from flambeau.passes.delegation.payload_runner import run_payload
from flambeau.runtime import Runtime


class Blocks(nn.Module):
    """A linear layer whose weight has a scale for each 16 numbers of a row; `most` is the largest of its integers."""

    def __init__(self, most: int = 7, dtype: torch.dtype = torch.int8, rows: int = 48):
        super().__init__()
        low, zero = (0, 8) if dtype == torch.uint8 else (-8, 0)
        self.low, self.most, self.dtype = low, most, dtype
        weight = torch.randint(low, most + 1, (rows, 32), dtype=dtype)
        weight[0, :2] = torch.tensor([low, most])
        self.weight = nn.Buffer(weight)
        self.scales = nn.Buffer(torch.rand(rows, 2) + 0.01)
        self.zeros = nn.Buffer(torch.full((rows, 2), zero, dtype=torch.int32))

    def forward(self, x: Tensor) -> Tensor:
        made: Any = torch.ops.quantized_decomposed.dequantize_per_channel_group
        weight = made(self.weight, self.scales, self.zeros, self.low, self.most, self.dtype, 16, torch.float32)
        return nn.functional.linear(x, weight)


def payload_of(module: nn.Module, x: Tensor) -> bytes:
    (data,) = payloads(to_edge(torch.export.export(module, (x,))).to_backend("onnxruntime"))
    return data


def stored(data: bytes) -> dict[int, list[int]]:
    """How many bytes the constants of each element type have."""
    found: dict[int, list[int]] = {}
    for item in read(unlabelled(memoryview(data), "it"), "it").graph.initializer:
        found.setdefault(item.data_type, []).append(len(item.raw_data))
    return found


@pytest.mark.parametrize("python", installed("onnxruntime-test"))
@pytest.mark.parametrize("shape", [(3, 32), (2, 3, 32)])
@pytest.mark.parametrize(("dtype", "most"), [(torch.int8, 7), (torch.int8, 8), (torch.uint8, 15), (torch.uint8, 16)])
def test_what_4_bits_hold_is_stored_in_them(dtype: torch.dtype, most: int, shape: tuple[int, ...], python: str) -> None:
    seed()
    module, x = Blocks(most, dtype), torch.randn(shape)
    data = payload_of(module, x)
    number, is_narrow = NARROW[ui8 if dtype == torch.uint8 else i8], most % 8 == 7
    assert stored(data).get(number) == ([48 * 32 // 2, 48] if is_narrow else None)
    (by_rows,) = run_payload("OnnxRuntimeBackend", memoryview(data), {}, [x.numpy()])
    (found,) = onnxruntime(python, LABEL_BYTES).run(data, [x.numpy()])
    for result in (by_rows, found):
        np.testing.assert_allclose(result, module(x).numpy(), rtol=1e-5, atol=1e-5)


def test_the_runtime_multiplies_floats_by_them(onnxruntime_library: Path) -> None:
    seed()
    module, x = Blocks(), torch.randn(2, 3, 32)
    program = bytes(to_edge(torch.export.export(module, (x,))).to_backend("onnxruntime").to_executorch().buffer)
    method = (
        Runtime.get().load_program(program, backend_options={"onnxruntime": {"library": str(onnxruntime_library)}}).load_method("forward")
    )
    np.testing.assert_allclose(method.execute([x.numpy()])[0], module(x).numpy(), rtol=1e-5, atol=1e-5)


def test_an_odd_number_of_them_ends_with_half_a_byte() -> None:
    class Row(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Buffer(torch.tensor([[-8, 7, 3]], dtype=torch.int8))

        def forward(self, x: Tensor) -> Tensor:
            made: Any = torch.ops.quantized_decomposed.dequantize_per_channel_group
            weight = made(self.weight, torch.tensor([[0.5]]), torch.tensor([[0]], dtype=torch.int32), -8, 7, torch.int8, 3, torch.float32)
            return x + weight

    x = torch.ones(1, 3)
    data = payload_of(Row(), x)
    assert stored(data)[NARROW[i8]] == [2, 1]
    (found,) = run_payload("OnnxRuntimeBackend", memoryview(data), {}, [x.numpy()])
    assert cast(Any, found).tolist() == [[-3.0, 4.5, 2.5]]


def test_too_few_bytes_are_refused() -> None:
    data = payload_of(Blocks(), torch.randn(3, 32))

    model = bytes(unlabelled(memoryview(data), "it"))
    number = bytes([0x10, NARROW[i8]])
    changed = model.replace(number, bytes([0x10, 3]))
    assert changed != model
    with pytest.raises(BackendError, match="has not as many bytes"):
        decode(memoryview(labelled(changed, 1, 1)), {}, FlambeauContext().blobs)
