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
from flambeau.dialects.exec.instructions import CallOp, reads_and_writes
from flambeau.dialects.exec.slots import StateOp, nbytes, root_of
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


class Caches(nn.Module):
    """Caches that are written in different ways: layer by layer of a stack, at a place, in a slice, by rows."""

    stack: Tensor
    heads: Tensor
    batch: Tensor
    rows: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name, shape in (("stack", (2, 8, 4)), ("heads", (1, 2, 8, 4)), ("batch", (1, 8, 4)), ("rows", (8, 4))):
            self.register_buffer(name, torch.full(shape, 2.0))

    def forward(self, x: Tensor, at: Tensor) -> Tensor:
        self.stack[0].index_copy_(0, at, x)
        self.stack[1].index_copy_(0, at, x * 2)
        self.heads[:, :, at] = x.unsqueeze(0).expand(2, 1, 4) * 3
        self.batch[:, 3:5] = torch.cat([x, x + 1]).unsqueeze(0)
        self.rows[2] = x[0]
        self.rows[-1] = x[0] * 2
        return self.stack.sum((0, 1)) + self.heads.sum((0, 1, 2)) + self.batch.sum((0, 1)) * 3 + self.rows.sum(0)


@pytest.mark.parametrize("target", ["executorch", "flambeau"])
def test_a_step_writes_the_new_entries_and_nothing_else(target: str) -> None:
    module = Caches().requires_grad_(False)
    steps = [(torch.randn(1, 4), torch.tensor([place])) for place in (0, 7, 3, 7)]
    context = FlambeauContext()
    compilation = Compilation(export_module(module, steps[0], context), context, PipelineOptions(target=target))
    compilation.to("planned")
    (method,) = methods_of(compilation.module)
    entries = 0
    for op in method.instructions:
        for slot in reads_and_writes(op)[1]:
            if isinstance(root_of(slot)[0].owner, StateOp):
                assert isinstance(op, CallOp) and op.operator.data in ("aten::index_put_", "aten::copy_")
                entries += nbytes(op.ins[2 if op.operator.data == "aten::index_put_" else 1].type)
    assert entries == sum(4 * 4 * count for count in (1, 1, 2, 2, 1, 1))
    planned = compilation.module.clone()
    program = compilation.emit()
    interpreter = interpret(planned, context)
    runtime = Runtime.get().load_program(program).load_method("forward")
    stock = peer.Runtime.get().load_program(program).load_method("forward") if target == "executorch" else None
    reference = deepcopy(module)
    for step in steps:
        expected = reference(*step).numpy()
        outputs: list[Any] = [interpreter.run("forward", [item.numpy() for item in step])[0], runtime.execute(step)[0]]
        if stock is not None:
            outputs.append(stock.execute(step)[0].numpy())
        for output in outputs:
            np.testing.assert_allclose(output, expected, rtol=1e-5, atol=1e-5)
