"""The pattern driver: order, ends, what it says, what it hands to those who watch."""

from __future__ import annotations

from typing import ClassVar, cast

import pytest
from xdsl.dialects.builtin import IntAttr, ModuleOp
from xdsl.dialects.test import TestOp, TestPureOp, TestType
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from flambeau.dialects.ir.diagnostics import Diagnostic, OperationError, listening
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.kit import PatternPass, Pipeline, apply_patterns, decline, from_xdsl, m, op, rewrites
from flambeau.passes.manager import Instrumentation, PassError, PassStep
from flambeau.passes.rewriting.actions import Action, watching
from flambeau.passes.rewriting.greedy_driver import PatternDriver, RewriteLimitError
from flambeau.passes.rewriting.pattern import Pattern
from flambeau.tools.instruments.debug_counter import CounterRange, DebugCounter

X = TestType("x")


def numbered(*numbers: int) -> ModuleOp:
    """A module of effectful operations with a number each."""
    return ModuleOp([TestOp(attributes={"n": IntAttr(n)}) for n in numbers])


def number_of(op: Operation) -> int:
    return cast("IntAttr[int]", op.attributes["n"]).data


def numbers(module: ModuleOp) -> list[int]:
    return [number_of(op) for op in module.body.block.ops]


class StepPattern(Pattern):
    """Adds one until a bound."""

    roots: ClassVar[tuple[type[Operation], ...]] = (TestOp,)

    def __init__(self, bound: int):
        self.bound = bound

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if number_of(op) < self.bound:
            rewriter.replace(op, TestOp(attributes={"n": IntAttr(number_of(op) + 1)}))


class PingPattern(StepPattern):
    """Odd to even."""

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if number_of(op) % 2 == self.bound:
            rewriter.replace(op, TestOp(attributes={"n": IntAttr(1 - number_of(op))}))


class PongPattern(PingPattern):
    """Even to odd."""


def test_rewriting_goes_on_until_nothing_matches():
    module = numbered(0, 5, 2)
    driver = PatternDriver([StepPattern(3)])
    assert driver.run(module)
    assert numbers(module) == [3, 5, 3]
    assert driver.applied == {"StepPattern": 4}
    assert not driver.run(module)


def test_one_look_at_each_operation():
    module = numbered(0, 5, 2)
    assert PatternDriver([StepPattern(3)], recursive=False).run(module)
    assert numbers(module) == [1, 5, 3]


def test_only_some_operations():
    module = numbered(0, 1)
    PatternDriver([StepPattern(3)], only=lambda op: op.attributes["n"] != IntAttr(1)).run(module)
    assert numbers(module) == [1, 1]


def test_greater_benefit_first_and_then_the_order_given():
    def named(name: str, benefit: int) -> Pattern:
        @rewrites(TestOp, benefit=benefit)
        def set_name(op: TestOp) -> TestOp | None:
            return None if "by" in op.attributes else TestOp(attributes={"n": IntAttr(0), "by": TestType(name)})

        return set_name

    for patterns, first in [((1, 2), "1"), ((2, 1), "0"), ((1, 1), "0")]:
        module = numbered(0)
        apply_patterns(module, [named(str(index), benefit) for index, benefit in enumerate(patterns)])
        assert [op.attributes["by"] for op in module.body.block.ops] == [TestType(first)]


def test_a_cycle_names_its_patterns_and_shows_itself():
    module = numbered(0)
    with pytest.raises(RewriteLimitError) as caught:
        apply_patterns(module, [PingPattern(0), PongPattern(1)])
    assert "does not come to an end: P" in str(caught.value)
    assert "PingPattern" in str(caught.value)
    assert "PongPattern" in str(caught.value)
    assert {note.message for note in caught.value.notes} == {"PingPattern rewrote test.op", "PongPattern rewrote test.op"}
    assert len(caught.value.notes) == 2


def test_a_pattern_that_grows_without_end_is_named():
    module = numbered(0)
    with pytest.raises(RewriteLimitError, match="StepPattern was applied") as caught:
        PatternDriver([StepPattern(10**9)], limit=2).run(module)
    assert len(caught.value.notes) == 1


def test_a_cycle_in_a_pass_is_an_error_of_the_pass():
    class SpinPass(PatternPass):
        name = "spin"

        def patterns(self) -> list[Pattern]:
            return [PingPattern(0), PongPattern(1)]

    with pytest.raises(PassError, match="spin: rewriting does not come to an end") as caught:
        Pipeline.of([SpinPass()]).run(numbered(0), FlambeauContext())
    assert len(caught.value.diagnostic.notes) == 2


def test_dead_operations_go_and_so_does_what_only_they_read():
    text = """
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = core.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
      %2 = core.neg(%1) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %x : tensor<2xf32>
    }
    """
    module = parse_module(text, FlambeauContext()).module
    assert PatternDriver([]).run(module)
    assert "core." not in print_module(module)


def test_what_a_rewrite_leaves_dead_goes_too():
    relu, neg = op("core.relu"), op("core.neg")

    @rewrites(neg)
    def skip(root: Operation) -> Operation | None:
        inner = root.operands[0].owner
        return neg(inner.operands[0]) if isinstance(inner, relu) else None

    text = """
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = core.neg(%0) : (tensor<2xf32>) -> tensor<2xf32> loc("there"("m.py":3:1))
      func.return %1 : tensor<2xf32>
    }
    """
    module = parse_module(text, FlambeauContext()).module
    apply_patterns(module, [skip])
    assert "core.relu" not in print_module(module)
    (new,) = [op for op in module.walk() if op.name == "core.neg"]
    assert '"there"' in str(new.location)


class EraseNextPattern(Pattern):
    """Erases what follows a 1."""

    roots: ClassVar[tuple[type[Operation], ...]] = (TestOp,)

    def __init__(self) -> None:
        self.seen: list[int] = []

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        self.seen.append(number_of(op))
        if number_of(op) == 1 and op.next_op is not None:
            rewriter.erase(op.next_op)


def test_operations_nested_in_erased_ones_are_not_visited():
    outer = TestOp(attributes={"n": IntAttr(2)}, regions=[Region(Block([TestOp(attributes={"n": IntAttr(3)})]))])
    erase = EraseNextPattern()
    apply_patterns(ModuleOp([TestOp(attributes={"n": IntAttr(1)}), outer]), [erase])
    assert erase.seen == [1]


def test_errors_of_patterns_are_errors_of_the_operation():
    @rewrites(TestOp)
    def broken(op: TestOp) -> None:
        raise ValueError("it is broken")

    module = numbered(3)
    with pytest.raises(OperationError, match="it is broken") as caught:
        apply_patterns(module, [broken])
    assert caught.value.op is module.body.block.first_op


def test_a_replacement_must_have_as_many_results():
    @rewrites(TestOp)
    def wrong(root: TestOp) -> TestPureOp:
        return TestPureOp(result_types=[X])

    with pytest.raises(OperationError, match=r"test\.op has 0 results, and is replaced by 1 values"):
        apply_patterns(numbered(0), [wrong])


@pytest.mark.parametrize("reads_the_last", [False, True])
def test_a_last_result_needs_a_replacement_if_something_reads_it(reads_the_last: bool):
    @rewrites(TestOp)
    def first_alone(root: TestOp) -> TestPureOp | None:
        return TestPureOp(result_types=[X]) if root.results else None

    two = TestOp(result_types=[X, X])
    module = ModuleOp([two, TestOp(operands=[two.results[int(reads_the_last)]])])
    if reads_the_last:
        with pytest.raises(OperationError, match=r"test\.op has 2 results, and is replaced by 1 values"):
            apply_patterns(module, [first_alone])
        return
    apply_patterns(module, [first_alone])
    pure, reader = module.body.block.ops
    assert isinstance(pure, TestPureOp) and list(reader.operands) == list(pure.results)


def test_patterns_of_xdsl():
    class Negate(RewritePattern):
        def match_and_rewrite(self, op: Operation, rewriter: PatternRewriter, /) -> None:
            if "n" in op.attributes and number_of(op) > 0:
                rewriter.replace(op, TestOp(attributes={"n": IntAttr(-number_of(op))}))

    module = numbered(1, -2, 3)
    driver = PatternDriver([from_xdsl(Negate(), TestOp)])
    driver.run(module)
    assert numbers(module) == [-1, -2, -3]
    assert driver.applied == {"Negate": 2}
    everywhere = from_xdsl(Negate())
    assert everywhere.roots == (Operation,)


@rewrites(TestOp, counter="numbers raised")
def raise_zero(root: TestOp) -> TestOp | None:
    if root.attributes["n"] != IntAttr(0):
        return decline(lambda: f"{root.attributes['n']} is not zero")
    return TestOp(attributes={"n": IntAttr(1)})


class RaisePass(PatternPass):
    name = "raise"

    def patterns(self) -> list[Pattern]:
        return [raise_zero]


def test_reasons_for_declining_are_remarks_on_what_is_left():
    found: list[Diagnostic] = []
    module = numbered(0, 7)
    with listening(found.append):
        RaisePass().apply(FlambeauContext(), module)
    assert [item.severity for item in found] == ["remark", "remark"]
    assert {item.op for item in found} == set(module.body.block.ops)
    driver = PatternDriver([raise_zero], explain=True)
    driver.run(numbered(9))
    assert list(driver.declined.values()) == [{"raise_zero": "#builtin.int<9> is not zero"}]


def test_reasons_are_not_written_when_nobody_listens():
    asked: list[int] = []

    @rewrites(TestOp)
    def costly(root: TestOp) -> None:
        return decline(lambda: asked.append(1) or "costly")

    apply_patterns(numbered(0), [costly])
    assert not asked


class Recorder(Instrumentation):
    def __init__(self) -> None:
        self.actions: list[tuple[str, str, bool]] = []
        self.counters: dict[str, int] = {}

    def after_action(self, action: Action, changed: bool) -> None:
        self.actions.append((action.kind, action.name, changed))

    def after_pass(self, step: PassStep) -> None:
        self.counters = dict(step.counters)


def test_attempts_are_actions_and_applications_are_counted():
    recorder = Recorder()
    Pipeline.of([RaisePass()]).run(numbered(0, 7), FlambeauContext(), [recorder])
    attempts = [("pattern", "raise_zero", True), ("pattern", "raise_zero", False), ("pattern", "raise_zero", False)]
    assert sorted(recorder.actions) == sorted(attempts)
    assert recorder.counters == {"numbers raised": 1}


def test_forbidden_attempts_do_not_happen():
    module = numbered(0, 0, 0)
    with watching(DebugCounter({"raise_zero": CounterRange(1, 1)})):
        apply_patterns(module, [raise_zero])
    assert numbers(module) == [0, 1, 0]


def test_insertions_elsewhere_are_looked_at():
    @rewrites(TestOp)
    def nothing(root: TestOp) -> None:
        return None

    class SpawnPattern(Pattern):
        roots = (TestOp,)

        def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            if op.attributes["n"] == IntAttr(2):
                rewriter.insert(TestOp(attributes={"n": IntAttr(0)}), InsertPoint.after(op))
                op.attributes["n"] = IntAttr(3)
                rewriter.notify_op_modified(op)

    module = numbered(2)
    apply_patterns(module, [nothing, SpawnPattern(), raise_zero])
    assert numbers(module) == [3, 1]


def test_nothing_around_the_root_is_touched():
    text = """
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
      "test.op"() ({
        %1 = core.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
      }) : () -> ()
      func.return %x : tensor<2xf32>
    }
    """
    module = parse_module(text, FlambeauContext()).module
    inner = next(found for found in module.walk() if isinstance(found, TestOp))
    assert PatternDriver([]).run(inner)
    assert "core.neg" not in print_module(module)
    assert "core.relu" in print_module(module)


def test_what_is_no_pattern_is_said_in_words():
    with pytest.raises(ValueError, match=r"'forgotten' is not a pattern: @rewrites\(…\) before a function makes one of it"):

        def forgotten(root: Operation) -> None: ...

        PatternDriver([cast(Pattern, forgotten)])


@pytest.mark.parametrize("root", ["aten.mul.Tensor", number_of])
def test_a_root_that_is_no_class_is_said_in_words(root: object):
    with pytest.raises(ValueError, match="is given a class of operations"):
        rewrites(cast("type[Operation]", root))


@pytest.mark.parametrize("given", [5, TestPureOp, [1]])
def test_a_replacement_that_is_no_value_is_said_in_words(given: object):
    @rewrites(TestOp)
    def odd(root: TestOp) -> None:
        return cast(None, given)

    with pytest.raises(OperationError, match=r"odd gave .* are to replace test\.op"):
        apply_patterns(numbered(1), [odd])


def test_an_operation_that_was_changed_in_place_is_given_back() -> None:
    @rewrites(TestOp)
    def lower(root: TestOp) -> Operation | None:
        number = number_of(root)
        if number == 0:
            return None
        root.attributes["n"] = IntAttr(number - 1)
        return root

    module = numbered(3)
    apply_patterns(module, [lower])
    assert {number_of(found) for found in module.walk() if isinstance(found, TestOp)} == {0}


def test_operations_may_stand_among_the_values_that_replace_results() -> None:
    @rewrites(TestOp)
    def split(root: TestOp) -> tuple[Operation, SSAValue] | None:
        if len(root.results) != 2:
            return None
        one = TestPureOp(result_types=[X])
        return one, TestPureOp(result_types=[X]).results[0]

    module = ModuleOp([TestOp(result_types=[X, X])])
    apply_patterns(module, [split])
    assert [found.name for found in module.body.block.ops] == ["test.pureop", "test.pureop"]


def test_an_operation_is_not_replaced_by_its_own_results() -> None:
    @rewrites(TestOp)
    def keep(root: TestOp) -> SSAValue:
        return root.results[0]

    with pytest.raises(OperationError, match=r"keep replaced test\.op by a result of its own; to change an operation in place, give"):
        apply_patterns(ModuleOp([TestOp(result_types=[X])]), [keep])


def test_what_an_inserted_operation_brings_with_it_is_looked_at_and_has_a_place() -> None:
    @rewrites(TestOp)
    def wrap(op: TestOp) -> Operation | None:
        inside = Block([TestPureOp(result_types=[X], attributes={"n": IntAttr(0)}), TestOp(attributes={"inner": IntAttr(0)})])
        return None if "inner" in op.attributes else TestOp(attributes={"inner": IntAttr(1)}, regions=[Region(inside)])

    @rewrites(TestPureOp)
    def rename(op: TestPureOp) -> Operation | None:
        return TestOp(attributes={"inner": IntAttr(2)}, result_types=[X])

    module = parse_module('"test.op"() : () -> () loc("a")', FlambeauContext()).module
    place = module.body.block.ops.first.location  # pyright: ignore[reportOptionalMemberAccess] there is one
    apply_patterns(module, [wrap, rename])
    inner = [op for op in module.walk() if op is not module]
    assert [op.location for op in inner] == [place] * len(inner)
    assert "test.pureop" not in {op.name for op in inner}


def test_an_operation_that_is_built_and_not_used_is_dropped() -> None:
    relu, neg = op("core.relu"), op("core.neg")

    @rewrites(neg)
    def skip(root: Operation) -> SSAValue | None:
        inner = root.operands[0].owner
        if not isinstance(inner, relu):
            return None
        neg(neg(inner.result).result)  # two that nothing needs
        return inner.operands[0]

    text = """
    func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {
      %0 = core.relu(%x) : (tensor<2xf32>) -> tensor<2xf32>
      %1 = core.neg(%0) : (tensor<2xf32>) -> tensor<2xf32>
      func.return %1 : tensor<2xf32>
    }
    """
    module = parse_module(text, FlambeauContext()).module
    apply_patterns(module, [skip])
    assert not [found for found in module.walk() if found.name.startswith("core.")]


def test_what_only_nested_operations_read_goes_with_them() -> None:
    text = """
    func.func @f(%c: i1, %x: f32) {
      %0 = arith.addf %x, %x : f32
      %1 = arith.mulf %0, %0 : f32
      %2 = scf.if %c -> (f32) {
        %3 = arith.addf %1, %x : f32
        scf.yield %3 : f32
      } else {
        scf.yield %0 : f32
      }
      func.return
    }"""
    module = parse_module(text, FlambeauContext()).module
    apply_patterns(module, [])
    assert [op.name for op in module.walk()] == ["builtin.module", "func.func", "func.return"]


def test_a_part_of_a_graph_is_no_replacement():
    context = FlambeauContext()
    module = parse_module(
        "func.func @f(%x: tensor<4xf32>) { %0 = aten.relu(%x) : (tensor<4xf32>) -> tensor<4xf32> func.return }", context
    ).module
    (relu,) = (item for item in module.walk() if item.name == "aten.relu")

    @rewrites(op("aten.relu"))
    def confused(relu: Operation) -> Operation:
        return cast("Operation", m.op("aten.abs", m.value()))

    with pytest.raises(ValueError, match=r"confused gave a part of a graph: m\.op\(…\) is for matching; call op\(…\)"):
        confused.rewrite(relu, PatternRewriter(relu))
