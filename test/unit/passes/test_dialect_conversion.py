"""Dialect conversion: legality, reports, going back, and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import pytest
from xdsl.dialects.arith import AddiOp, ConstantOp, ExtSIOp, TruncIOp
from xdsl.dialects.builtin import IndexType, IntegerAttr, IntegerType, ModuleOp, UnrealizedConversionCastOp, i32, i64
from xdsl.dialects.func import FuncOp
from xdsl.dialects.test import TestOp, TestTermOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.ir.verify import verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.kit import (
    ConversionPattern,
    ConversionTarget,
    TypeConverter,
    apply_full_conversion,
    apply_partial_conversion,
    decline,
    op,
    rewrites,
    type_patterns,
)
from flambeau.passes.rewriting.actions import watching
from flambeau.passes.rewriting.conversion_report import Attempt, ConversionError
from flambeau.tools.instruments.debug_counter import CounterRange, DebugCounter

TEXT = """
func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
  %0 = aten.relu(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("layers.0"("m.py":3:1))
  %1 = aten.neg(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("layers.1"("m.py":4:1))
  %2 = aten.neg(%1) : (tensor<2xf32>) -> tensor<2xf32> loc("layers.2"("m.py":4:1))
  func.return %2 : tensor<2xf32>
}
"""


@rewrites(op("aten.relu"))
def convert_relu(root: Operation) -> Operation:
    return op("core.relu")(root.operands[0])


@rewrites(op("aten.neg").at("aten"))
def convert_neg(root: Operation) -> None:
    return decline("negation is not supported here")


def parsed(text: str = TEXT) -> ModuleOp:
    return parse_module(text, FlambeauContext()).module


def test_what_has_no_rule_may_stay_in_a_partial_conversion_only():
    target = ConversionTarget("the goal").legal("core").illegal("aten.relu")
    module = parsed()
    apply_partial_conversion(module, target, [convert_relu])
    assert "core.relu" in print_module(module)
    with pytest.raises(ConversionError) as caught:
        apply_full_conversion(parsed(), target, [convert_relu])
    assert {(row.name, row.reason) for row in caught.value.report.rows} == {
        (name, "nothing says that it is legal in the goal") for name in ("func.func", "aten.neg", "func.return")
    }


def test_the_report_has_names_counts_places_patterns_and_reasons():
    target = ConversionTarget("core").illegal("aten", because="it is of aten")
    with pytest.raises(ConversionError) as caught:
        apply_partial_conversion(parsed(), target, [convert_relu, convert_neg])
    (row,) = caught.value.report.rows
    assert (row.name, row.count, row.reason) == ("aten.neg", 2, "it is of aten")
    assert row.places() == ("layers.1 (m.py:4)", "layers.2 (m.py:4)")
    assert row.attempts == (Attempt("convert_neg", "negation is not supported here"),)
    expected = "2 operations cannot be converted to core: aten.neg (2 times, also at layers.2 (m.py:4)): it is of aten"
    assert str(caught.value) == f"{expected}; negation is not supported here"


def test_legal_operations_are_left_alone():
    module = parsed()
    apply_partial_conversion(module, ConversionTarget("anything").legal("aten"), [convert_relu])
    assert "aten.relu" in print_module(module)


def test_classes_are_asked_before_names_and_these_before_dialects():
    relu = op("aten.relu").at("aten")
    target = ConversionTarget("t").illegal("aten", because="dialect").illegal("aten.relu", because="name").illegal(relu, because="class")
    relu_op, neg_op, _ = (found for found in parsed().walk() if found.name.startswith("aten."))
    assert target.why_illegal(relu_op) == "class"
    assert target.legal(relu).why_illegal(relu_op) is None
    assert target.why_illegal(neg_op) == "dialect"
    assert target.legal("aten.neg").why_illegal(neg_op) is None
    assert not target.is_known(FuncOp("f", ((), ())))


def test_closed_operations_are_not_looked_into():
    target = ConversionTarget("core").illegal("aten").legal("func").closed(FuncOp)
    module = parsed()
    apply_partial_conversion(module, target, [convert_relu])
    assert "aten.relu" in print_module(module)
    target = ConversionTarget("core").illegal("aten", "func").closed(FuncOp)
    with pytest.raises(ConversionError):
        apply_partial_conversion(parsed(), target, [convert_relu])


def test_a_failed_atomic_conversion_leaves_no_trace():
    target = ConversionTarget("core").illegal("aten")
    module, plain = parsed(), parsed()
    before = print_module(module, locations=True)
    with pytest.raises(ConversionError):
        apply_partial_conversion(module, target, [convert_relu], atomic=True)
    assert print_module(module, locations=True) == before
    verify_module(module)
    with pytest.raises(ConversionError):
        apply_partial_conversion(plain, target, [convert_relu])
    assert "core.relu" in print_module(plain)


def test_a_restricted_conversion_is_not_judged():
    module = parsed()
    with watching(DebugCounter({"*": CounterRange(0, 0)})):
        apply_partial_conversion(module, ConversionTarget("core").illegal("aten"), [convert_relu])
    assert "aten.relu" in print_module(module)


def widened(kind: IntegerType) -> Attribute | None:
    return i64 if kind == i32 else None


class AddPattern(ConversionPattern):
    roots: ClassVar[tuple[type[Operation], ...]] = (AddiOp,)

    def convert(self, op: Operation, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> Operation:
        return AddiOp(operands[0], operands[1])


class ConstantPattern(ConversionPattern):
    roots: ClassVar[tuple[type[Operation], ...]] = (ConstantOp,)

    def convert(self, op: Operation, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> Sequence[SSAValue]:
        assert isinstance(op, ConstantOp)
        assert isinstance(op.value, IntegerAttr)
        return ConstantOp.from_int_and_width(op.value.value.data, 64).results


INTEGERS = """
func.func @f(%x: i32, %y: i64) -> i32 {
  %c = arith.constant 2 : i32
  %0 = arith.addi %x, %c : i32
  %1 = "test.op"(%0, %y) ({
  ^bb0(%a: i32):
    %2 = arith.addi %a, %0 : i32
    "test.termop"(%2) : (i32) -> ()
  }) : (i32, i64) -> i32
  %3 = func.call @f(%1, %y) : (i32, i64) -> i32
  func.return %3 : i32
}
"""


def wide() -> tuple[TypeConverter, ConversionTarget]:
    types = TypeConverter().add(IntegerType, widened)
    return types, ConversionTarget("i64").dynamic(types.why_illegal, Operation).illegal(UnrealizedConversionCastOp)


def test_types_change_everywhere_at_once():
    module = parsed(INTEGERS)
    types, target = wide()
    apply_full_conversion(module, target, [*type_patterns(types, TestOp, TestTermOp), AddPattern(types), ConstantPattern(types)])
    verify_module(module)
    text = print_module(module)
    assert "i32" not in text
    assert "unrealized" not in text
    assert "%c = arith.constant 2 : i64" in text


def test_casts_stand_between_what_is_converted_and_what_is_not():
    module = parsed(INTEGERS)
    types = TypeConverter().add(IntegerType, widened)
    target = ConversionTarget("i64").dynamic(types.why_illegal, AddiOp)
    apply_partial_conversion(module, target, [AddPattern(types)])
    verify_module(module)
    text = print_module(module)
    assert text.count("unrealized_conversion_cast") == 5
    types, strict = wide()
    with pytest.raises(ConversionError, match="operations cannot be converted to i64"):
        apply_partial_conversion(parsed(INTEGERS), strict, [AddPattern(types)])


def test_values_are_made_as_one_says():
    def convert_width(value: SSAValue, wanted: Attribute) -> SSAValue:
        return (ExtSIOp(value, i64) if wanted == i64 else TruncIOp(value, i32)).result

    module = parsed(INTEGERS)
    types = TypeConverter(convert_width).add(IntegerType, widened)
    apply_partial_conversion(module, ConversionTarget("i64").dynamic(types.why_illegal, AddiOp), [AddPattern(types)])
    verify_module(module)
    text = print_module(module)
    assert "unrealized" not in text
    assert "arith.extsi" in text
    assert "arith.trunci" in text


def test_a_declining_conversion_leaves_no_casts():
    class NeverPattern(ConversionPattern):
        roots: ClassVar[tuple[type[Operation], ...]] = (AddiOp,)

        def convert(self, op: Operation, operands: Sequence[SSAValue], rewriter: PatternRewriter) -> None:
            return decline("never")

    module = parsed(INTEGERS)
    types = TypeConverter().add(IntegerType, widened)
    with pytest.raises(ConversionError, match=r"; never$"):
        apply_partial_conversion(module, ConversionTarget("i64").dynamic(types.why_illegal, AddiOp), [NeverPattern(types)])
    assert print_module(module) == print_module(parsed(INTEGERS))
    (x, *_) = next(found for found in module.walk() if isinstance(found, FuncOp)).body.block.args
    assert x.has_one_use()


def test_later_rules_for_types_are_asked_first():
    types = TypeConverter().add(IntegerType, widened).add(IndexType, lambda kind: i32).add(IntegerType, lambda kind: None)
    assert types.convert(i32) == i64
    assert types.convert(IndexType()) == i32
    assert types.is_legal(i64)
    assert types.add(IntegerType, lambda kind: i32).convert(i64) == i32
