"""State that a program updates is written where it lies, on every engine, and each call goes on where the last one ended."""

from __future__ import annotations

from copy import deepcopy
from typing import Any, cast

import numpy as np
import pytest
import torch
from engines import peer
from torch import Tensor, nn

from flambeau.compiler.compilation import Compilation
from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.frontends.torch_export import export_module
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.storage.slot_rewrites import methods_of
from flambeau.runtime import Runtime
from flambeau.runtime.interpreter import interpret

STEPS = 4


class Decoder(nn.Module):
    """A cache of keys, one more at each call, and how many there are."""

    cache: Tensor
    count: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, 2, 8, 4))
        self.register_buffer("count", torch.zeros(1, dtype=torch.int64))
        self.key = nn.Linear(8, 8)

    def forward(self, x: Tensor) -> Tensor:
        key = self.key(x).view(1, 1, 2, 4).transpose(1, 2)
        self.cache.index_copy_(2, self.count, key)
        self.count.add_(1)
        return (self.cache * self.cache).sum(2)


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_a_cache_is_written_in_place(target: str) -> None:
    cast(Any, torch).manual_seed(0)
    module = Decoder().eval().requires_grad_(False)
    steps = [torch.randn(1, 8) for _ in range(STEPS)]
    context = FlambeauContext()
    compilation = Compilation(export_module(module, (steps[0],), context), context, PipelineOptions(target=target))
    compilation.to("planned")
    (method,) = methods_of(compilation.module)
    kernels = [op.operator.data for op in method.instructions if isinstance(op, CallOp)]
    assert "aten::copy_" not in kernels
    assert "aten::clone.out" not in kernels
    planned = compilation.module.clone()
    program = compilation.emit()
    interpreter = interpret(planned, context)
    runtime = Runtime.get().load_program(program).load_method("forward")
    stock = peer.Runtime.get().load_program(program).load_method("forward") if target == "executorch" else None
    reference = deepcopy(module)  # the program's initial state is that of the module, whose memory it shares
    for step in steps:
        expected = reference(step).numpy()
        outputs = [interpreter.run("forward", [step.numpy()])[0], runtime.execute([step.numpy()])[0]]
        if stock is not None:
            outputs.append(stock.execute((step,))[0].numpy())
        for output in outputs:
            np.testing.assert_allclose(cast(Any, output), expected, rtol=1e-5, atol=1e-6)
