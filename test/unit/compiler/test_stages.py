"""The stage of a module follows from its operations."""

from __future__ import annotations

import pytest

from flambeau.compiler.stages import stage_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module

X = "tensor<2x3xf32>"


@pytest.mark.parametrize(
    ("line", "stage"),
    [
        (f"aten.relu(%x) : ({X}) -> {X}", "aten"),
        (f"edge.relu(%x) : ({X}) -> {X}", "edge"),
        (f"fused.linear(%x, %w, none, none) {{out_features = 4}} : ({X}, tensor<1x3x16xf32>) -> tensor<2x4xf32>", "edge"),
    ],
)
def test_a_function_is_at_the_stage_of_its_operators(line: str, stage: str) -> None:
    text = f"func.func @forward(%x: {X}, %w: tensor<1x3x16xf32>) {{ %r = {line}\n func.return }}"
    assert stage_of(parse_module(text, FlambeauContext()).module) == stage
