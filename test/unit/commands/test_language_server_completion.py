"""What the language server offers to complete."""

import pytest
from editor_texts import BLOCKS, TEXT, labels

from flambeau.tools.language_server.analysis import Analysis, analyze


@pytest.fixture(scope="module")
def good() -> Analysis:
    return analyze(TEXT, "model.mlir")


LINE = "    func.return %u"


def typed(line: str, good: Analysis) -> list[str]:
    return labels(TEXT.replace(LINE, f"    {line}\n{LINE}"), previous=good)


def test_completion_of_operations(good: Analysis):
    assert "aten" in typed("%k = at|", good)
    assert {"aten.relu", "aten.relu6"} <= set(typed("%k = aten.re|", good))
    assert "edge.view_copy" in typed("edge.view|", good)
    assert "arith.addi" in typed("%k = arith.|", good)
    assert "exec.call" in typed("exec.|", good)
    assert typed("%k = nowhere.|", good) == []
    assert typed("// %k = aten.re|", good) == []


@pytest.mark.parametrize(
    "header", ["func.func @g(%a: tensor<4xf32>) {\n", "func.func @g() attributes {a} {\n", '"func.func"() <{}> ({\n', "func.func @g() { "]
)
def test_completion_of_the_first_operation_of_a_region(header: str):
    assert {"aten.relu", "aten.relu6"} <= set(labels(f"{header}  %0 = aten.|\n}}"))
    assert "aten" in labels(f"{header}  %0 = at|\n}}")
    assert "arith" in labels(f"{header}  ar|\n}}") and "arg_attrs" not in labels(f"{header}  ar|\n}}")


def test_completion_of_values_symbols_and_blocks(good: Analysis):
    assert typed("%k = aten.relu(%|", good) == ["%u", "%s#0", "%s#1", "%z", "%y", "%w", "%x"]
    assert typed("%k = aten.relu(%s#|", good) == ["%s#0", "%s#1"]
    assert typed("%q = aten.neg(%z)\n    %k = aten.relu(%|", good)[-1] == "%q"
    assert typed("%k = ml_program.global_load_const @|", good) == ["@w", "@forward"]
    above = labels(TEXT.replace("    %z = aten", "    %k = aten.relu(%|\n    %z = aten"), previous=good)
    assert above == ["%y", "%w", "%x"]
    blocks = analyze(BLOCKS, "b.mlir")
    assert labels(BLOCKS.replace("cf.br ^two", "cf.br ^|"), previous=blocks) == ["^one", "^two"]
    first = labels(BLOCKS.replace("    cf.cond_br", "    %n = arith.addi %|\n    cf.cond_br"), previous=blocks)
    assert first == ["%a", "%c"]
    assert labels("func.func @f(%x : i32) {\n  %a = arith.addi %x, %x : i32\n  %b = arith.addi %|") == ["%a", "%x"]


def test_completion_of_values_of_the_blocks_before(good: Analysis):
    text = """builtin.module {
  func.func @f(%a : i32, %c : i1) -> i32 {
    %e = arith.addi %a, %a : i32
    cf.cond_br %c, ^two, ^one(%a : i32)
  ^two:
    %t = arith.addi %e, %a : i32
    cf.br ^three
  ^one(%p : i32):
    %o = arith.addi %e, %p : i32
    cf.br ^three
  ^three:
    %h = arith.addi %e, %a : i32
    func.return %h : i32
  }
}
"""
    analysis = analyze(text, "b.mlir")
    for block, values in (("^two", ["%e"]), ("^one(%p : i32)", ["%p", "%e"]), ("^three", ["%e"])):
        first = labels(text.replace(f"  {block}:\n", f"  {block}:\n    %n = arith.addi %|\n"), previous=analysis)
        assert first[: len(values) + 2] == [*values, "%a", "%c"]
    assert (
        labels(text.replace("    cf.br ^three\n  ^one", "    %n = arith.addi %|\n    cf.br ^three\n  ^one"), previous=analysis)[0] == "%t"
    )


def test_completion_of_attributes(good: Analysis):
    assert typed("%k = aten.conv2d(%x, %w, none) {|", good) == ["stride", "padding", "dilation", "groups"]
    assert typed("%k = aten.conv2d(%x, %w, none) {stride = [1, 2], pa|", good) == ["padding"]
    assert typed("%k = aten.avg_pool2d(%x) {ceil_mode = |", good) == ["true", "false"]
    assert typed("%k = aten.relu(%x) : |", good) == []
    assert "predicate" in typed('%k = "arith.cmpi"(%x, %x) <{|', good)
    assert "sym_visibility" in labels("func.func @g() attributes {sym_v|\n}")
