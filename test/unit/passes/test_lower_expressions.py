"""Expressions over symbols mean the same before they become calls and after it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.runtime.interpreter import InterpreterError, interpret

X = "tensor<?x?xf32, #edge.layout<sizes = [s0 in [2, 9], s1 in [0, 9]]>>"
EXPRESSIONS: dict[str, Callable[[int, int], int]] = {
    "s0 * 2 + s1": lambda a, b: a * 2 + b,
    "1 - s0 * s1": lambda a, b: 1 - a * b,
    "-s0 - 3": lambda a, b: -a - 3,
    "(s0 * 2 + 1) floordiv 4": lambda a, b: (a * 2 + 1) // 4,
    "(s1 - s0) mod 3 + 1": lambda a, b: (b - a) % 3 + 1,
    "min(s0 * 2 + 1, s1 * 3) * max(s1, 4)": lambda a, b: min(a * 2 + 1, b * 3) * max(b, 4),
    "s1 - (s0 + 1) floordiv 2 + ((s0 + 1) floordiv 2 + s1) floordiv 2": lambda a, b: b - (a + 1) // 2 + ((a + 1) // 2 + b) // 2,
}


def module_of(*expressions: str) -> tuple[ModuleOp, FlambeauContext]:
    """A module whose function returns the values of expressions, as instructions."""
    names = [f"%n{index}" for index in range(len(expressions))]
    lines = [f"  {name} = flambeau.value {expression} : i64" for name, expression in zip(names, expressions, strict=True)]
    kinds = ", ".join(["i64"] * len(names))
    text = f"func.func @forward(%x: {X}) -> ({kinds}) {{\n" + "\n".join([*lines, f"  func.return {', '.join(names)} : {kinds}", "}"])
    context = FlambeauContext()
    module: ModuleOp = parse_module(text, context).module
    Pipeline.parse("convert-edge-to-exec").run(module, context)
    return module, context


def values(module: ModuleOp, context: FlambeauContext, rows: int, columns: int) -> list[int]:
    results: list[Any] = list(interpret(module, context).run("forward", [np.zeros((rows, columns), np.float32)]))
    return [int(result) for result in results]


@pytest.mark.parametrize("size", [(2, 0), (3, 5), (9, 9)])
def test_expressions_have_their_values_before_and_after(size: tuple[int, int]) -> None:
    module, context = module_of(*EXPRESSIONS)
    expected = [compute(*size) for compute in EXPRESSIONS.values()]
    assert values(module, context, *size) == expected
    Pipeline.parse("lower-expressions").run(module, context)
    assert "exec.evaluate" not in str(module)
    assert values(module, context, *size) == expected


def test_what_two_expressions_take_is_computed_once() -> None:
    module, context = module_of("(s0 * 2 + 1) floordiv 4", "(s0 * 2 + 1) floordiv 3", "s0 * 2 + 1")
    Pipeline.parse("lower-expressions").run(module, context)
    calls = [
        op.operator.data
        for method in module.body.block.ops
        if isinstance(method, MethodOp)
        for op in method.instructions
        if isinstance(op, CallOp)
    ]
    found = [name.removeprefix("executorch_prim::") for name in calls if name.startswith("executorch_prim::") and "le." not in name]
    assert found == ["mul.Scalar", "add.Scalar", "floordiv.Scalar", "floordiv.Scalar"]


def test_a_division_by_zero_is_an_error() -> None:
    module, context = module_of("s0 floordiv s1")
    with pytest.raises(InterpreterError, match="cannot be computed"):
        values(module, context, 2, 0)
