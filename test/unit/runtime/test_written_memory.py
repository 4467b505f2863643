"""Buffers and inputs that are written as a whole and in part, in any order: each engine computes what PyTorch does, call after call.

More random programs than the tests run: `python test/unit/runtime/test_written_memory.py COUNT [FIRST]`.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Sequence
from typing import Any, cast

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

from flambeau import EdgeCompileConfig, to_edge
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.passes.memory.verify_plan import check_method
from flambeau.passes.storage.slot_rewrites import methods_of
from flambeau.runtime import Runtime
from flambeau.runtime.emit import read_pte
from flambeau.runtime.interpreter import interpret

Body = Callable[[Sequence[Tensor], Tensor, Tensor], Any]


class Program(nn.Module):
    """A program of buffers and two inputs."""

    def __init__(self, body: Body, buffers: int = 1):
        super().__init__()
        self.body = body
        for number in range(buffers):
            self.register_buffer(f"b{number}", torch.arange(12.0).view(3, 4) * number)

    def forward(self, x: Tensor, y: Tensor) -> Any:
        """What the body gives."""
        return self.body(list(self.buffers()), x, y)


def whole_and_row(b: Sequence[Tensor], x: Tensor, y: Tensor) -> Any:
    b[0].mul_(2)
    b[0][1] = x[0]
    return b[0] + y


def row_updated(b: Sequence[Tensor], x: Tensor, y: Tensor) -> Any:
    b[0].mul_(0.9)
    b[0][0] += x[0]
    return b[0].sum() + y


def row_and_whole(b: Sequence[Tensor], x: Tensor, y: Tensor) -> Any:
    b[0][0] = x[0]
    b[0].mul_(2)
    return b[0] + 0 * y, b[0][0] + y


def two_rows_and_wholes(b: Sequence[Tensor], x: Tensor, y: Tensor) -> Any:
    b[0].add_(1)
    b[0][0].zero_()
    b[0].add_(1)
    b[0][2] = x[1]
    return b[0] + y


def rows_of_an_input(b: Sequence[Tensor], x: Tensor, y: Tensor) -> Any:
    x[0] = 1
    x[1] = 2
    return x + y + b[0]


def whole_and_row_of_an_input(b: Sequence[Tensor], x: Tensor, y: Tensor) -> Any:
    x.add_(y)
    x[1] = y[0]
    y.add_(x)
    return x * 2 + b[0]


_PARTS: list[Callable[[Tensor], Tensor]] = [
    lambda t: t[0],
    lambda t: t[2],
    lambda t: t[1:],
    lambda t: t[:2],
    lambda t: t[:, 1],
    lambda t: t[:, 1:3],
    lambda t: t[1, 2],
    lambda t: t[::2],
]


def random_body(seed: int) -> tuple[Body, int]:
    """A body, and how many buffers it has."""
    chosen = random.Random(seed)
    buffers = chosen.randint(1, 3)
    steps = [(chosen.randrange(8), *(chosen.randrange(100) for _ in range(4))) for _ in range(chosen.randint(2, 6))]
    returned = [chosen.randrange(100) for _ in range(chosen.randint(0, 2))]

    def body(b: Sequence[Tensor], x: Tensor, y: Tensor) -> Any:
        memory, seen = [*b, x, y], x + y
        for kind, target, source, part, number in steps:
            t, s = memory[target % len(memory)], memory[source % len(memory)]
            take = _PARTS[part % len(_PARTS)]
            match kind:
                case 0:
                    t.mul_(0.5 + number % 3 * 0.25)
                case 1:
                    t.copy_(s * 0.5)
                case 2:
                    take(t).copy_(take(s))
                case 3:
                    take(t).fill_(number % 5)
                case 4:
                    take(t).add_(take(s) * 0.25)
                case 5:
                    t[torch.tensor([2, number % 2])] = s[torch.tensor([0, 1])]
                case 6:
                    seen = seen + take(t).sum()
                case _:
                    t.add_(s)
        return [seen, *(memory[number % len(memory)] * (1 + number % 2) for number in returned)]

    return body, buffers


def check(program: Program, *, calls: int = 3) -> None:
    """Compares PyTorch, the C runtime and, if the input stays as it is, the interpreter of the planned program."""
    generator = torch.Generator().manual_seed(0)
    given = [[torch.randn(3, 4, generator=generator) for _ in range(2)] for _ in range(calls)]
    exported = torch.export.export(program, (torch.ones(3, 4), torch.ones(3, 4)))
    runs: list[Callable[[Sequence[Tensor]], Sequence[Any]]] = []
    for target in ("flambeau", "executorch"):
        file = bytes(to_edge(exported, compile_config=EdgeCompileConfig(target=target)).to_executorch().buffer)
        runs.append(Runtime.get().load_program(file).load_method().execute)
        context = FlambeauContext()
        module = read_pte(file, context)
        assert [fault for method in methods_of(module) for fault in check_method(method)] == []
        planned = interpret(module, context)
        runs.append(lambda inputs, planned=planned: planned.run("forward", [item.numpy().copy() for item in inputs]))
    for inputs in given:
        kept = [item.clone() for item in inputs]
        wanted = cast("list[Tensor]", tree_leaves(program(*kept)))
        for number, run in enumerate(runs):
            mine = [item.clone() for item in inputs]
            got = run(mine)
            pairs = list(zip(wanted, got, strict=False)) + ([] if number % 2 else list(zip(kept, mine, strict=True)))
            for left, right in pairs:
                np.testing.assert_allclose(np.asarray(right), left.numpy(), rtol=1e-4, atol=1e-4, err_msg=f"engine {number}")


@pytest.mark.parametrize(
    "body", [whole_and_row, row_updated, row_and_whole, two_rows_and_wholes, rows_of_an_input, whole_and_row_of_an_input]
)
def test_writes_of_the_whole_and_of_parts(body: Body):
    check(Program(body))


@pytest.mark.parametrize("seed", range(5))
def test_random_writes_to_buffers_and_inputs(seed: int):
    body, buffers = random_body(seed)
    check(Program(body, buffers))


if __name__ == "__main__":
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    for seed in range(first, first + int(sys.argv[1])):
        try:
            check(Program(*random_body(seed)))
        except Exception as error:
            print(seed, type(error).__name__, str(error).strip()[:300].replace("\n", " "), flush=True)
