"""Legality against reality: what the table takes of the samples of its operators is computed by each driver as by numpy."""

from __future__ import annotations

import re
from functools import cache
from itertools import product

import pytest
from delegated_operators import Trial, assert_close, program_of, trials_of
from shares import drawn
from vulkan_drivers import DRIVERS

from flambeau.backends.vulkan import VulkanOptions
from flambeau.backends.vulkan.legality import OPERATORS, table
from flambeau.backends.vulkan.lower import CONVERTERS
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module
from flambeau.runtime import Runtime


@cache
def programs(name: str) -> list[tuple[bytes, Trial]]:
    """The programs of the samples of an operator that are numbers. Constants are dequantized for who reads them."""
    trials = trials_of(name, table(VulkanOptions()), {}, {"quantized_decomposed.dequantize_per_channel": "_softmax"})
    return [(program_of(trial, "vulkan"), trial) for trial in trials.finite()]


def test_there_is_a_converter_for_each_operator_of_the_table():
    assert OPERATORS.keys() == CONVERTERS.keys()


@pytest.mark.usefixtures("driver")
@pytest.mark.parametrize(("name", "driver"), drawn(product(sorted(OPERATORS), DRIVERS), parts=4), indirect=["driver"])
def test_a_driver_is_right_about_what_is_taken(name: str):
    for program, trial in programs(name):
        method = Runtime.get().load_program(program).load_method("forward")
        assert_close(method.execute(trial.inputs), trial.expected)


LIST = "{stride = [1, 1], padding = [0, 0], dilation = [1, 1], transposed = TRANSPOSED, output_padding = [0, 0], groups = 1}"
POOL = "stride = [1, 1], padding = [0, 0]"
LONG = {
    "edge.amax(%x) {dim = [1]}": (["1x3840001"], "1"),
    "edge.mean.dim(%x) {dim = [0]}": (["60001x64"], "64"),
    "edge._log_softmax(%x) {dim = 1, half_to_float = false}": (["1x1280001"], "1x1280001"),
    "edge._softmax(%x) {dim = 0, half_to_float = false}": (["20001x64"], "20001x64"),
    "edge.mm(%x, %y)": (["1x60001", "60001x1"], "1x1"),
    "edge.bmm(%x, %y)": (["1x1x60001", "1x60001x1"], "1x1x1"),
    "edge.addmm(%x, %y, %z)": (["1x1", "1x60001", "60001x1"], "1x1"),
    "edge.linear(%x, %y, none)": (["1x60001", "1x60001"], "1x1"),
    f"edge.convolution(%x, %y, none) {LIST.replace('TRANSPOSED', 'false')}": (["1x5000x3x3", "1x5000x3x3"], "1x1x1x1"),
    f"edge.convolution(%x, %y, none) {LIST.replace('TRANSPOSED', 'true')}": (["1x5000x1x1", "5000x1x3x3"], "1x1x3x3"),
    f"edge.avg_pool2d(%x) {{kernel_size = [200, 300], {POOL}}}": (["1x1x200x300"], "1x1x1x1"),
    "edge._adaptive_avg_pool2d(%x) {output_size = [1, 2]}": (["1x1x200x600"], "1x1x1x2"),
}
"""Operations that would go round the loops of an invocation more often than they may."""


@pytest.mark.parametrize("operation", LONG)
def test_what_would_loop_for_long_is_refused(operation: str):
    kinds, result = ([f"tensor<{shape}xf32>" for shape in LONG[operation][0]], f"tensor<{LONG[operation][1]}xf32>")
    named = ", ".join(f"%{name}: {kind}" for name, kind in zip("xyz", kinds, strict=False))
    text = f"func.func @f({named}) -> {result} {{\n%r = {operation} : ({', '.join(kinds)}) -> {result}\nfunc.return %r : {result}\n}}"
    module = parse_module(text, FlambeauContext()).module
    op = next(item for item in module.walk() if isinstance(item, SchemaOp))
    assert re.fullmatch(
        r"an invocation computes its result in \d+ rounds, and every driver does 60000", str(table(VulkanOptions()).why_not(op))
    )
