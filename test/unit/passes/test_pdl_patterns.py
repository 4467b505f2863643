"""Patterns in the `pdl` dialect: loaded from a file, compiled, applied by our driver."""

from __future__ import annotations

from pathlib import Path

import pytest
from xdsl.dialects.builtin import BoolAttr
from xdsl.ir import SSAValue

from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.rewriting.greedy_driver import PatternDriver
from flambeau.passes.rewriting.pdl import load_patterns, patterns_in, pdl_constraint
from flambeau.passes.transforms.apply_pdl_patterns import ApplyPdlPatternsPass

FUNCTION = """
func.func @f(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = core.relu(%x) : (tensor<4xf32>) -> tensor<4xf32>
  %1 = core.add.Tensor(%0, %y) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %1 : tensor<4xf32>
}
"""


def pattern(
    matching: str,
    rewriting: str,
    *,
    root: str = "%root",
    name: str = "@p",
    benefit: int = 1,
) -> str:
    return f"""
pdl.pattern {name} : benefit({benefit}) {{
  %x = pdl.operand
  %type = pdl.type
  {matching}
  pdl.rewrite {root} {{
    {rewriting}
  }}
}}
"""


RELU = '%root = pdl.operation "core.relu" (%x : !pdl.value) -> (%type : !pdl.type)'


def rewritten(patterns: str, text: str = FUNCTION) -> str:
    context = FlambeauContext()
    module = parse_module(text, context).module
    Pipeline.of([ApplyPdlPatternsPass()]).run(joined := parse_module(patterns + text, context).module, context)
    assert module is not joined
    return print_module(joined).partition("func.func")[2]


def fails(patterns: str, match: str) -> None:
    with pytest.raises(PassError, match=match):
        rewritten(patterns)


def test_a_file_of_patterns(tmp_path: Path):
    path = tmp_path / "patterns.mlir"
    path.write_text(
        pattern(
            RELU,
            '%new = pdl.operation "core.neg" (%x : !pdl.value) pdl.replace %root with %new',
            name="@negate",
        )
    )
    context = FlambeauContext()
    (only,) = load_patterns(path, context)
    assert type(only).__name__ == "negate"
    assert [kind.name for kind in only.roots] == ["core.relu"]
    parsed = parse_module(FUNCTION, context, "f.mlir", locate=True)
    driver = PatternDriver([only])
    assert driver.run(parsed.module)
    assert driver.applied == {"negate": 1}
    (negated,) = [op for op in parsed.module.walk() if op.name == "core.neg"]
    assert '"f.mlir":3:' in str(negated.location)


def test_a_bad_file_is_one_line_with_its_place(tmp_path: Path):
    path = tmp_path / "patterns.mlir"
    path.write_text(
        pattern(
            RELU,
            '%new = pdl.operation "core.negg" (%x : !pdl.value) pdl.replace %root with %new',
        )
    )
    for text, match in [
        (path.read_text(), r"patterns\.mlir:7:\d+: there is no operation core\.negg; did you mean 'core\.neg'"),
        (
            pattern('%root = pdl.operation "core.reul" (%x : !pdl.value) -> (%type : !pdl.type)', "pdl.erase %root"),
            r"there is no operation core\.reul; did you mean 'core\.relu'",
        ),
        (
            pattern(
                '%n = pdl.attribute %root = pdl.operation "core.mul.Scalar" (%x : !pdl.value) {"othr" = %n} -> (%type : !pdl.type)',
                "pdl.erase %root",
            ),
            r"core\.mul\.Scalar has no attribute 'othr'; did you mean 'other'",
        ),
        (pattern(RELU, "pdl.erase %root"), r"core\.relu cannot be erased: its results are used; replace it"),
        ("pdl.pattern @p {", r"patterns\.mlir:1:\d+: error: "),
        (FUNCTION, "the file holds no pdl.pattern"),
    ]:
        path.write_text(text)
        with pytest.raises(PassError, match=match) as caught:
            Pipeline.parse(f'apply-pdl-patterns{{file="{path}"}}').run(parse_module(FUNCTION, context := FlambeauContext()).module, context)
        assert "\n" not in str(caught.value)
    with pytest.raises(PassError, match=r"none\.mlir: No such file"):
        Pipeline.of([ApplyPdlPatternsPass(str(tmp_path / "none.mlir"))]).run(
            parse_module(FUNCTION, context := FlambeauContext()).module, context
        )


def test_a_range_of_operands_stands_for_any_number():
    text = """
%rest = pdl.operands
%root = pdl.operation "core.add.Tensor" (%x, %rest : !pdl.value, !pdl.range<value>) -> (%type : !pdl.type)
"""
    assert "core.add" not in rewritten(pattern(text, "pdl.replace %root with (%x : !pdl.value)"))


def test_the_root_is_found_when_it_is_not_named():
    text = f"""{RELU.replace("root", "relu")}
%value = pdl.result 0 of %relu
%y = pdl.operand
%root = pdl.operation "core.add.Tensor" (%value, %y : !pdl.value, !pdl.value) -> (%type : !pdl.type)
"""
    result = rewritten(pattern(text, "pdl.replace %root with (%x : !pdl.value)", root=""))
    assert "core." not in result


def test_greater_benefit_goes_first():
    keep = pattern(RELU, "pdl.replace %root with (%x : !pdl.value)", name="@drop", benefit=5)
    negate = pattern(
        RELU,
        '%new = pdl.operation "core.neg" (%x : !pdl.value) pdl.replace %root with %new',
        name="@negate",
    )
    assert "core.neg" not in rewritten(negate + keep)
    assert "core.neg" in rewritten(negate + keep.replace("benefit(5)", "benefit(0)"))


def test_constraints_of_plug_ins_and_their_negation():
    @pdl_constraint("has_four_elements")
    def has_four_elements(value: SSAValue) -> bool:
        return shape_of(value) == (4,)

    text = f'{RELU}\npdl.apply_native_constraint "has_four_elements"(%x : !pdl.value)'
    assert "core.relu" not in rewritten(pattern(text, "pdl.replace %root with (%x : !pdl.value)"))
    context = FlambeauContext()
    module = parse_module(pattern(text, "pdl.replace %root with (%x : !pdl.value)") + FUNCTION, context).module
    for op in module.walk():
        if op.name == "pdl.apply_native_constraint":
            op.properties["isNegated"] = BoolAttr.from_bool(True)
    assert not PatternDriver(patterns_in(module, context)).run(module)


def test_optional_operands_at_the_end_may_be_left_out():
    make = '%new = pdl.operation "core.rms_norm" (%x : !pdl.value) {"normalized_shape" = %shape} pdl.replace %root with %new'
    shape = "%shape = pdl.attribute = array<i64: 4>"
    assert "core.rms_norm(%" in rewritten(pattern(RELU, f"{shape}\n{make}"))


def test_what_a_rewrite_cannot_do():
    fails(
        pattern(RELU, "%t = pdl.type\npdl.replace %root with (%x : !pdl.value)"),
        "pdl.type of a rewrite needs a value",
    )
    fails(
        pattern(RELU, "pdl.replace %root with (%x, %x : !pdl.value, !pdl.value)"),
        "core.relu has 1 results and is replaced by 2 values",
    )
    made = '%new = pdl.operation "core.relu" (%x : !pdl.value)\n%second = pdl.result 1 of %new'
    made += "\npdl.replace %root with (%second : !pdl.value)"
    fails(pattern(RELU, made), "core.relu has 1 results, and not a result 1")
    fails(
        pattern(RELU, '%new = pdl.operation "test.op"\npdl.erase %root'),
        "result types of test.op cannot be inferred",
    )
