"""Bisection: over passes, over rewrites, for each kind of predicate."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from chains import chain
from wrong_rewrites import CANONICALIZE, CHAIN, CSE, ReplacePass, ReplacePattern, bisect, replace
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.elementwise.math import AbsOp, NegOp
from flambeau.dialects.aten.layers.activation import ReluOp, SigmoidOp, TanhOp
from flambeau.dialects.ir.tensor_types import f32, tensor
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager import PatternPass, Pipeline
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.tools.bisection import BisectionError
from flambeau.tools.bisection.binary_search import first_bad
from flambeau.tools.predicates.crash import Crash
from flambeau.tools.predicates.output_checks import FileCheck, Script
from flambeau.tools.predicates.predicate import Question
from flambeau.tools.predicates.wrong_result import WrongResult

# Searching


def test_the_search_ends_at_a_turn_from_good_to_bad():
    numbers = random.Random(0)
    for _ in range(300):
        states = [
            False,
            *(numbers.random() < 0.5 for _ in range(numbers.randrange(0, 40))),
            True,
        ]
        asked: list[int] = []

        def is_bad(index: int, states: list[bool] = states, asked: list[int] = asked) -> bool:
            asked.append(index)
            return states[index]

        good, found = first_bad(0, len(states) - 1, is_bad)
        assert (good, states[good], states[found]) == (found - 1, False, True)
        assert len(asked) <= len(states).bit_length()
        assert 0 not in asked


# Wrong results


@pytest.mark.parametrize("layer", [0, 2, 4, 6])
def test_the_wrong_rewrite_among_right_ones_is_found(layer: int):
    @dataclass(frozen=True)
    class SlopePattern(ReplacePattern):
        def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            if isinstance(op, ReluOp):
                slope = -0.125 if f'"forward.{layer}"' in str(op.location) else 0
                replace_with_values(
                    op,
                    [ReluOp(aten.add.Scalar(op.operands[0], slope)).result],
                    rewriter,
                )

        roots = (ReluOp,)

    class OncePass(ReplacePass):
        def apply_to(self, ctx: Context, op: Operation) -> None:
            from flambeau.passes.rewriting.greedy_driver import PatternDriver

            PatternDriver(self.patterns(), recursive=False).run(op)

    bad = OncePass((SlopePattern(ReluOp, ReluOp),))
    result = bisect(CHAIN, [CANONICALIZE, bad, CSE], WrongResult())
    assert (result.number, result.total, result.step.name) == (2, 3, "replace")
    rewrite = result.rewrite
    assert rewrite is not None
    assert (rewrite.pattern, rewrite.ordinal, rewrite.total) == (
        "SlopePattern",
        layer // 2 + 1,
        4,
    )
    assert rewrite.place == f"forward.{layer} (model.py:{layer})"
    assert str(rewrite.position) == f"model.mlir:{layer + 2}:3"
    assert rewrite.op.startswith(f"%y{layer} = aten.relu(")
    assert [line[1:].split(" = ")[1].split("(")[0] for line in rewrite.diff if line[0] in "+-"] == [
        "aten.relu",
        "aten.add.Scalar",
        "aten.relu",
    ]
    assert result.notes == ()
    assert result.reason == ""


def test_the_pass_is_found_wherever_it_stands():
    for place in range(4):
        passes: list[ModulePass] = [CANONICALIZE, CSE, CANONICALIZE]
        passes.insert(place, replace(TanhOp, SigmoidOp, "forward.5"))
        result = bisect(CHAIN, passes, WrongResult())
        assert result.number == place + 1
        assert result.rewrite is not None
        assert result.rewrite.place == "forward.5 (model.py:5)"


def test_a_nested_pass_is_found_on_its_function(tmp_path: Path):
    text = chain("relu", "tanh") + chain("tanh", "relu", "tanh", function="second") + chain("tanh", function="third")
    bad = replace(TanhOp, SigmoidOp, "second.2", "third.0")
    pipeline = Pipeline(
        "builtin.module",
        (CANONICALIZE, Pipeline("func.func", (CSE, bad, CANONICALIZE)), CSE),
    )
    result = bisect(text, pipeline, WrongResult())
    assert (result.number, result.total, result.function) == (3, 5, "@second")
    assert result.rewrite is not None
    assert result.rewrite.place == "second.2 (model.py:2)"
    assert str(result.replay.pipeline).startswith("builtin.module(func.func(replace")
    # One pattern is tried on each of the two operators of the first function.
    assert result.replay.debug_counter == f"*-skip=2,*-count={result.rewrite.attempt}"


def test_rewrites_that_undo_each_other_leave_a_real_turn():
    # Signs change at each rewrite, so that results are wrong, right, wrong, right, wrong.
    text = chain("tanh", *["relu"] * 0, *["neg"] * 5, "tanh")
    bad = replace(NegOp, AbsOp)
    result = bisect(text, [bad], WrongResult())
    rewrite = result.rewrite
    assert rewrite is not None
    assert rewrite.after is not None
    context = FlambeauContext()
    module = parse_module(text, context).module
    from flambeau.tools.semantics.reference_results import Reference

    reference = Reference(module, context)
    assert reference.difference(rewrite.before) is None
    assert reference.difference(rewrite.after) is not None


def test_a_pass_that_announces_nothing_is_found_as_a_whole():
    class SilentPass(ModulePass):
        name = "silent"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for inner in list(op.walk()):
                if isinstance(inner, TanhOp):
                    PatternRewriter(inner).replace(inner, SigmoidOp(inner.operands[0]))

    result = bisect(CHAIN, [CANONICALIZE, SilentPass()], WrongResult())
    assert result.number == 2
    assert result.rewrite is None
    assert result.reason == "the pass does not announce its rewrites"
    assert result.replay.debug_counter is None

    class MixedPass(ReplacePass):
        def apply_to(self, ctx: Context, op: Operation) -> None:
            SilentPass().apply(ctx, op)  # pyright: ignore[reportArgumentType]  it runs at the top level
            super().apply_to(ctx, op)

    result = bisect(
        CHAIN,
        [
            MixedPass(
                (
                    ReplacePattern(ReluOp, ReluOp, ("none",)),
                    ReplacePattern(SigmoidOp, TanhOp, ("forward.3",)),
                )
            )
        ],
        WrongResult(),
    )
    assert result.rewrite is None
    assert result.reason == "the predicate holds even if all rewrites that the pass announces are forbidden"


@pytest.mark.parametrize(
    ("passes", "question", "message"),
    [
        ([], WrongResult(), "no passes to choose from"),
        (
            [CANONICALIZE, CSE],
            WrongResult(),
            "the predicate is that the pipeline changes the result, but the results are the same",
        ),
        (
            [CANONICALIZE],
            Crash(),
            "the predicate is that the pipeline fails, but it does not fail",
        ),
    ],
)
def test_nothing_to_find_is_said(passes: Sequence[ModulePass], question: Question, message: str):
    with pytest.raises(BisectionError, match=message):
        bisect(CHAIN, passes, question)


# Crashes


@dataclass(frozen=True)
class RaisingPattern(Pattern):
    layer: str
    error: type[Exception] = RuntimeError
    roots = (ReluOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if f'"{self.layer}"' in str(op.location):
            raise self.error("the slope is missing")
        replace_with_values(op, [AbsOp(op.operands[0]).result], rewriter)


@dataclass(frozen=True)
class RaisingPass(PatternPass):
    name = "raising"
    items: tuple[RaisingPattern, ...] = (RaisingPattern("forward.4"),)

    def patterns(self) -> Sequence[Pattern]:
        return self.items


@pytest.mark.parametrize("error", [RuntimeError, ValueError, IndexError])
def test_the_rewrite_that_raises_is_found(error: type[Exception]):
    result = bisect(CHAIN, [CANONICALIZE, RaisingPass((RaisingPattern("forward.4", error),)), CSE], Crash())
    assert (result.number, result.step.name) == (2, "raising")
    assert "the slope is missing" in result.detail
    rewrite = result.rewrite
    assert rewrite is not None
    assert (rewrite.ordinal, rewrite.place) == (3, "forward.4 (model.py:4)")
    assert rewrite.after is None
    assert rewrite.diff == ()
    assert print_module(rewrite.before).count("aten.abs") == 2


def test_the_rewrite_that_leaves_invalid_ir_is_found():
    class RetypePattern(ReplacePattern):
        def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            wrong = '"forward.5"' in str(op.location)
            new = SigmoidOp(op.operands[0], result_types=[tensor(f32, (17 if wrong else 16,))])
            new.location = op.location
            rewriter.replace(op, new)

        roots = (TanhOp,)

    result = bisect(CHAIN, [CANONICALIZE, ReplacePass((RetypePattern(TanhOp, SigmoidOp),))], Crash())
    assert result.number == 2
    assert "invalid" in result.detail
    assert result.rewrite is not None
    assert (result.rewrite.ordinal, result.rewrite.total) == (2, 2)
    assert result.rewrite.place == "forward.5 (model.py:5)"


def test_only_the_error_that_is_meant_counts():
    passes = [CANONICALIZE, RaisingPass()]
    assert bisect(CHAIN, passes, Crash("slope .* missing")).number == 2
    with pytest.raises(
        BisectionError,
        match=r"the pipeline fails in another way: .*the slope is missing",
    ):
        bisect(CHAIN, passes, Crash("out of memory"))
    with pytest.raises(BisectionError, match="the pipeline fails, and --crash finds out why"):
        bisect(CHAIN, passes, WrongResult())


# Texts


def test_the_pass_without_which_checks_pass_is_found(tmp_path: Path):
    checks = tmp_path / "checks.mlir"
    checks.write_text("// CHECK: core.tanh\n// CHECK: core.tanh\n")
    lower = Pipeline.parse("convert-aten-to-core").passes()
    passes = [CANONICALIZE, replace(TanhOp, SigmoidOp, "forward.5"), *lower, CSE]
    result = bisect(CHAIN, passes, FileCheck(checks, negated=True))
    assert (result.number, result.step.name) == (2, "replace")
    assert result.rewrite is not None
    assert result.rewrite.place == "forward.5 (model.py:5)"
    assert result.notes == ()


def test_the_pass_that_makes_a_script_succeed_is_found(tmp_path: Path):
    script = Script("grep -q aten.abs")
    result = bisect(
        CHAIN,
        [CANONICALIZE, replace(ReluOp, AbsOp, "forward.2", "forward.6"), CSE],
        script,
    )
    assert (result.number, result.step.name) == (2, "replace")
    assert result.rewrite is not None
    assert result.rewrite.place == "forward.2 (model.py:2)"
    with pytest.raises(BisectionError, match="ends with status 0 before the first pass already"):
        bisect(CHAIN, [CANONICALIZE], Script("true"))


def test_a_predicate_that_needs_several_passes_says_so():
    first, second = (
        replace(ReluOp, TanhOp, "forward.0"),
        replace(TanhOp, AbsOp, "forward.0"),
    )
    result = bisect(CHAIN, [first, CANONICALIZE, second], Script("grep -q aten.abs"))
    assert result.number == 1
    assert result.notes == ("the predicate does not hold without any one of these passes either: replace",)


def test_without_a_pass_that_is_needed_it_is_the_first_that_suffices():
    passes = [CANONICALIZE, replace(ReluOp, AbsOp, "forward.2", "forward.4"), CSE, replace(ReluOp, AbsOp, "forward.6")]
    result = bisect(CHAIN, passes, Script("grep -q aten.abs"))
    assert result.number == 2
    assert result.rewrite is not None
    assert (result.rewrite.ordinal, result.rewrite.place) == (1, "forward.2 (model.py:2)")
    with pytest.raises(BisectionError, match="before the first pass already"):
        bisect(CHAIN, passes, Script("grep -q aten.tanh"))


def test_what_later_passes_refuse_counts_as_not_holding(tmp_path: Path):
    # The last pass fails on what the second leaves half done.
    class PickyPass(ModulePass):
        name = "picky"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            kinds = {type(inner) for inner in op.walk()}
            if {ReluOp, AbsOp} <= kinds:
                raise ValueError("relu and abs do not mix")

    result = bisect(CHAIN, [CANONICALIZE, replace(ReluOp, AbsOp), PickyPass()], Script("grep -q aten.abs"))
    assert result.number == 2
    assert result.rewrite is not None
    assert result.rewrite.ordinal == result.rewrite.total == 4
    assert any("runs with only some of the rewrites failed later" in note for note in result.notes)
