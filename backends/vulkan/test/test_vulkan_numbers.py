"""NaN, infinities and numbers far from 0: each driver gives what numpy does, although the drivers' own functions do not."""

from __future__ import annotations

import numpy as np
import pytest

from flambeau.backends.vulkan.dialect.elementwise import ARITHMETIC, BINARY, UNARY
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.runtime import Runtime
from flambeau.runtime.emit import emit_pte
from flambeau.runtime.interpreter import interpret
from flambeau.support.lazy import Array

pytestmark = pytest.mark.usefixtures("driver")
SIZES = (0, 1e-30, 1e-4, 0.02, 0.3, 0.7, 1, 2.5, 10, 50, 87, 88.5, 90, 104, 1e4, 3e38, np.inf)
NUMBERS = np.array([*SIZES, *(-size for size in SIZES), np.nan], np.float32)
FUNCTIONS = {
    **{name: f"edge.{name}(%x)" for name in UNARY},
    "gelu": "edge.gelu(%x)",
    "gelu_tanh": 'edge.gelu(%x) {approximate = "tanh"}',
    "clamp": "edge.clamp(%x) {min = -1, max = 2}",
    "elu": "edge.elu(%x) {alpha = 0.5}",
    "leaky_relu": "edge.leaky_relu(%x) {negative_slope = 0.25}",
}


def check(operation: str, *inputs: Array, result: tuple[int, ...] | None = None) -> None:
    """Runs one operation of tensors; the shape of its result is by default that of all inputs together."""
    kinds = [f"tensor<{'x'.join(map(str, item.shape))}xf32>" for item in inputs]
    shape = np.broadcast_shapes(*(item.shape for item in inputs)) if result is None else result
    kind = f"tensor<{'x'.join(map(str, shape))}xf32>"
    named = ", ".join(f"%{name}: {kind}" for name, kind in zip("xy", kinds, strict=False))
    text = f"func.func @forward({named}) -> {kind} {{\n%r = {operation} : ({', '.join(kinds)}) -> {kind}\nfunc.return %r : {kind}\n}}"
    context = FlambeauContext()
    module = parse_module(text, context).module
    with np.errstate(all="ignore"):
        (expected,) = interpret(module, context).run("forward", list(inputs))
    Pipeline.parse("delegate{backends=vulkan},edge-to-exec,plan").run(module, context)
    program = b"".join(emit_pte(module, context))
    assert b"FlambeauVulkan" in program
    (found,) = Runtime.get().load_program(program).load_method("forward").execute(list(inputs))
    # Numbers below the least normal one may be 0.
    np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=3e-5, atol=1e-7)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_of_one_number(name: str):
    check(FUNCTIONS[name], NUMBERS)


@pytest.mark.parametrize("name", [*ARITHMETIC, *BINARY])
def test_functions_of_two_numbers(name: str):
    check(f"edge.{name}.Tensor(%x, %y)" if name in ARITHMETIC else f"edge.{name}(%x, %y)", NUMBERS[:, None], NUMBERS)


def windows(size: str) -> str:
    return f"edge.avg_pool2d(%x) {{kernel_size = [{size}], stride = [1, 1], padding = [0, 0], ceil_mode = false, count_include_pad = true}}"


LONG = {
    "amax": ("edge.amax(%x) {dim = [1]}", (1, 3_840_000), (1,)),
    "sum of columns": ("edge.sum.dim_IntList(%x) {dim = [0]}", (60_000, 64), (64,)),
    "softmax": ("edge._softmax(%x) {dim = 1, half_to_float = false}", (1, 1_280_000), (1, 1_280_000)),
    "window": (windows("200, 299"), (1, 1, 200, 299), (1, 1, 1, 1)),
}
"""Operations that go round the loops of an invocation as often as they may."""


@pytest.mark.parametrize("name", LONG)
def test_long_loops_end_where_they_should(name: str):
    operation, shape, result = LONG[name]
    check(operation, np.random.default_rng(0).random(shape, np.float32), result=result)
