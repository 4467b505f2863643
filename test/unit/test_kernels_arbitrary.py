"""Arbitrary arguments: every kernel either works or refuses, without touching memory that is not its own.

Run the library under an address sanitizer for reads too; the guards around the outs find writes without one.
"""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from kernel_harness import DTYPES, KernelError, Out, kernels, run, run_number, schema_of, type_of

FAMILIES = ("aten::", "dim_order_ops::")
NUMBERS = [0, 1, -1, 2, 3, -2, 5, 7, 64, 100, -100, 2**31 - 1, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63)]
REALS = [0.0, 0.5, -1.5, 1e30, -1e30, float("inf"), float("-inf"), float("nan")]
STRINGS = ["none", "tanh", "floor", "trunc", "sum", ""]


def shape(chance: random.Random) -> tuple[int, ...]:
    return tuple(chance.choice([0, 1, 1, 2, 3, 4, 5]) for _ in range(chance.choice([0, 1, 1, 2, 2, 3, 3, 4, 4, 5])))


class Arguments:
    """Draws arguments by schema type: mostly of the right kind, and tensors mostly of one shape and type."""

    def __init__(self, chance: random.Random):
        self.chance = chance
        self.dtype = chance.choice(list(DTYPES))
        self.shape = shape(chance)

    def tensor(self) -> torch.Tensor:
        chance = self.chance
        dtype = self.dtype if chance.random() < 0.7 else chance.choice([*DTYPES, torch.int64, torch.int64, torch.bool])
        size = self.shape if chance.random() < 0.6 else shape(chance)
        limit = 3 if chance.random() < 0.7 else 2**31
        x = torch.randint(
            -limit if chance.random() < 0.3 else 0, limit, size, generator=torch.Generator().manual_seed(chance.randrange(2**31))
        )
        x = x.to(dtype)
        return x if chance.random() < 0.6 or x.dim() < 2 else x.movedim(1, -1).contiguous().movedim(-1, 1)

    def number(self) -> Any:
        chance = self.chance
        return chance.choice([-2, -1, 0, 0, 1, 1, 2, 3]) if chance.random() < 0.7 else chance.choice([*NUMBERS, *REALS, True, False])

    def value(self, type_text: str) -> Any:
        chance = self.chance
        roll = chance.random()
        if roll < 0.02:
            return chance.choice([None, "text", 3, 2.5, True])
        if "?" in type_text and "Tensor?[]" not in type_text and roll < 0.3:
            return None
        if type_text.startswith("[") or "[" in type_text:
            count = chance.choice([0, 1, 1, 2, 2, 3, 4, 6, 17])
            if "Tensor" in type_text:
                return [None if "?" in type_text and chance.random() < 0.3 else self.tensor() for _ in range(count)]
            if "float" in type_text:
                return [chance.choice(REALS) for _ in range(count)]
            return [int(n) if isinstance(n := self.number(), int) else 1 for _ in range(count)]
        if "Tensor" in type_text:
            return self.tensor()
        if "str" in type_text:
            return chance.choice(STRINGS)
        return self.number()


@pytest.mark.parametrize("name", sorted(name for name in kernels() if name.startswith(FAMILIES)))
def test_arbitrary_arguments(name: str) -> None:
    chance = random.Random(name)
    schema = schema_of(name)
    if schema is None:
        pytest.fail(f"torch has no operator {name}")
    out_arguments = [argument for argument in schema.arguments if argument.is_out]
    for _ in range(60):
        draw = Arguments(chance)
        args = [draw.value(type_of(argument)) for argument in schema.arguments if not argument.is_out]
        if not out_arguments and not schema.returns[0].alias_info:
            try:
                run_number(name, *args)
            except KernelError as error:
                assert error.message
            continue
        count = max(len(out_arguments), 1)
        if out_arguments and type_of(out_arguments[0]).startswith("["):
            count = chance.choice([0, 1, 2, 3])
        outs: list[Out] = []
        for _ in range(count):
            dtype = draw.dtype if chance.random() < 0.6 else chance.choice([torch.float32, torch.int64, torch.bool, *DTYPES])
            size = draw.shape if chance.random() < 0.5 else shape(chance)
            order = list(range(len(size)))
            if chance.random() < 0.3:
                chance.shuffle(order)
            initial = torch.zeros(size, dtype=dtype)
            outs.append(Out(size, dtype, order, chance.random() < 0.7, initial))
        if not out_arguments:
            args = args[1:]
        try:
            run(name, *args, outs=outs)
        except KernelError as error:
            assert error.message, "a refusal says why"
