"""Arbitrary arguments: every kernel either works or refuses, without touching memory that is not its own.

Run the library under an address sanitizer for reads too; the guards around the outs find writes without one.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
import torch
from kernel_harness import DTYPES, KernelError, Out, kernels, run, run_number, schema_of, type_of

pytestmark = pytest.mark.every_library

NUMBERS = [0, 1, -1, 2, 3, -2, 5, 7, 64, 100, -100, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]
REALS = [0.0, 0.5, -1.5, 1e30, -1e30, float("inf"), float("-inf"), float("nan")]
STRINGS = ["none", "tanh", "floor", "trunc", "sum", ""]


def shape(chance: random.Random) -> tuple[int, ...]:
    return tuple(chance.choice([0, 1, 1, 2, 3, 4, 5]) for _ in range(chance.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5])))


class Arguments:
    """Draws arguments by schema type: mostly of the right kind, and tensors mostly of one shape and type."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self.dtype = chance.choice([torch.float32, torch.float32, torch.int64, torch.bool, *DTYPES])
        self.shape = shape(chance)

    def tensor(self) -> torch.Tensor:
        chance = self.chance
        dtype = self.dtype if chance.random() < 0.7 else chance.choice([*DTYPES, *[torch.int64, torch.bool] * 8])
        size = self.shape if chance.random() < 0.7 else shape(chance)
        limit = 2 if chance.random() < 0.8 else 2**31
        low = -limit if chance.random() < 0.3 else 0
        x = torch.randint(low, limit, size, generator=torch.Generator().manual_seed(chance.randrange(2**31))).to(dtype)
        return x if chance.random() < 0.6 or x.dim() < 2 else x.movedim(1, -1).contiguous().movedim(-1, 1)

    def number(self) -> Any:
        chance = self.chance
        return chance.choice([-2, -1, 0, 0, 1, 1, 2, 3]) if chance.random() < 0.85 else chance.choice([*NUMBERS, *REALS, True, False])

    def value(self, type_text: str) -> Any:
        chance = self.chance
        roll = chance.random()
        if roll < 0.01:
            return chance.choice([None, "text", 3, 2.5, True])
        if type_text.endswith("?") and roll < 0.4:
            return None
        if "[]" in type_text:
            count = chance.choice([0, 1, 1, 2, 2, 3, 4, 6, 17])
            if type_text.startswith("Tensor"):
                return [None if "?[" in type_text and chance.random() < 0.3 else self.tensor() for _ in range(count)]
            if type_text.startswith("float"):
                return [chance.choice(REALS) for _ in range(count)]
            if chance.random() < 0.5:
                return chance.sample(range(len(self.shape)), chance.randint(0, len(self.shape)))
            return [int(n) if isinstance(n := self.number(), int) else 1 for _ in range(count)]
        if type_text.startswith("Tensor"):
            return self.tensor()
        if type_text.startswith("bool"):
            return chance.random() < 0.5
        if type_text.startswith("int") and self.shape and chance.random() < 0.5:
            return chance.randrange(-len(self.shape), len(self.shape))
        return chance.choice(STRINGS) if type_text.startswith("str") else self.number()

    def out(self) -> Out:
        chance = self.chance
        dtype = self.dtype if chance.random() < 0.5 else chance.choice([*DTYPES, *[torch.float32, torch.int64, torch.bool] * 8])
        rank = max(len(self.shape) + chance.choice([0, 0, 0, -1, -1, 1]), 0) if chance.random() < 0.9 else chance.choice([0, 1, 2])
        size = (chance.choice([5, 9]),) * rank if chance.random() < 0.8 else shape(chance)
        order = list(range(len(size)))
        if chance.random() < 0.3:
            chance.shuffle(order)
        return Out(size, dtype, order, chance.random() < 0.9, torch.zeros(size, dtype=dtype))


def attempt(call: Callable[..., Any], *args: Any, **options: Any) -> bool:
    try:
        call(*args, **options)
    except KernelError as error:
        assert error.message, "a refusal says why"
        return False
    return True


def test_argument_counts_are_the_schemas() -> None:
    for name, kernel in kernels().items():
        schema = schema_of(name)
        if schema is not None:
            assert kernel.takes(len(schema.arguments) + 1), f"{name} is registered with {kernel.access}: {schema}"


@pytest.mark.parametrize("name", sorted(name for name in kernels() if schema_of(name)))
def test_arbitrary_arguments(name: str) -> None:
    chance = random.Random(name)
    schema = schema_of(name)
    if schema is None:
        pytest.fail(f"{name} has no schema")
    for _ in range(20):
        draw = Arguments(chance)
        args = [draw.value(type_of(argument)) for argument in schema.arguments if argument not in schema.outs]
        if not schema.mutates:
            attempt(run_number, name, *args)
            continue
        count = max(len(schema.outs), 1)
        if any(out.type.is_list for out in schema.outs):
            count = chance.choice([0, 1, 2, 3])
        for _ in range(6):  # most refusals are of the outs
            if attempt(run, name, *(args if schema.outs else args[1:]), outs=[draw.out() for _ in range(count)]):
                break
