"""The stage of a module follows from its operations."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from flambeau.compiler.compilation import Compilation
from flambeau.compiler.stages import stage_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import PassError
from flambeau.passes.transforms.cse import CsePass

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


def test_what_the_passes_of_a_stage_leave_is_verified(monkeypatch: pytest.MonkeyPatch) -> None:
    def misdeclare(self: CsePass, ctx: Context, op: Operation) -> None:
        # At the end of the stage: the passes in its middle read what they are given.
        is_last = any(item.name == "edge.relu" for item in op.walk())
        for function in op.walk():
            if isinstance(function, FuncOp) and is_last:
                function.properties["function_type"] = FunctionType.from_lists([], [])

    monkeypatch.setattr(CsePass, "apply_to", misdeclare)
    text = f"func.func @forward(%x: {X}) -> {X} {{\n%0 = aten.relu(%x) : ({X}) -> {X}\nfunc.return %0 : {X}\n}}"
    context = FlambeauContext()
    compilation = Compilation(parse_module(text, context).module, context)
    compilation.to("core")
    with pytest.raises(PassError, match="left the module invalid") as caught:
        compilation.to("edge")
    assert "only the end was verified" in str([note.message for note in caught.value.diagnostic.notes])
