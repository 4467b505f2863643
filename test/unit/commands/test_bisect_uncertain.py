"""Bisection where a form of the module cannot be judged, or where runs differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from chains import chain
from wrong_rewrites import CANONICALIZE, CHAIN, CSE, ReplacePass, ReplacePattern, bisect, replace
from xdsl.context import Context
from xdsl.dialects import test as test_dialect
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.aten.elementwise.math import AbsOp, NegOp
from flambeau.dialects.aten.layers.activation import ReluOp, SigmoidOp, TanhOp
from flambeau.passes.manager import PatternPass
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.passes.rewriting.lookup import op
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.tools.bisection import BisectionError
from flambeau.tools.predicates.output_checks import Script
from flambeau.tools.predicates.wrong_result import WrongResult

AddScalarOp = op("aten.add.Scalar")


class OpaquePass(ModulePass):
    """Puts what the interpreter does not know in the place of an operator, or back."""

    name = "opaque"
    back = False

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for inner in list(op.walk()):
            if isinstance(inner, test_dialect.TestPureOp if self.back else TanhOp) and may_rewrite(self.name, inner):
                known = TanhOp(inner.operands[0])
                new = known if self.back else test_dialect.TestPureOp(operands=[inner.operands[0]], result_types=[known.result.type])
                PatternRewriter(inner).replace(inner, new)


class TransparentPass(OpaquePass):
    name = "transparent"
    back = True


def test_the_pass_is_found_among_forms_that_cannot_be_told():
    bad = replace(ReluOp, AbsOp, "forward.0")
    result = bisect(CHAIN, [CANONICALIZE, OpaquePass(), bad, TransparentPass(), CSE], WrongResult())
    assert (result.number, result.first_number, result.step.name) == (3, 3, "replace")
    assert result.rewrite is not None
    assert result.rewrite.place == "forward.0 (model.py:0)"
    (note,) = result.notes
    assert note.startswith("the results of the passes opaque, replace, transparent are undecided")


def test_passes_that_cannot_be_told_apart_are_named_together():
    class WrongPass(ModulePass):
        """Does something wrong only where `opaque` has been."""

        name = "wrong"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            for inner in list(op.walk()):
                if isinstance(inner, test_dialect.TestPureOp):
                    PatternRewriter(inner).insert(negated := NegOp(inner.operands[0]))
                    inner.operands[0] = negated.result

    result = bisect(CHAIN, [CANONICALIZE, OpaquePass(), WrongPass(), TransparentPass(), CSE], WrongResult())
    assert (result.first_number, result.number) == (2, 3)
    assert (result.rewrite, result.reason) == (None, "the pass is not known")
    assert result.notes == ("the results of the passes opaque, wrong, transparent are undecided; the culprit is one of opaque, wrong",)


def test_a_pass_that_leaves_what_cannot_run_is_to_blame():
    result = bisect(CHAIN, [CANONICALIZE, OpaquePass(), CSE], WrongResult())
    assert (result.number, result.step.name) == (2, "opaque")
    assert "test.pureop has no meaning to the interpreter" in result.detail
    assert result.rewrite is not None
    assert result.rewrite.ordinal == 1


@pytest.mark.parametrize("change", ["rename", "erase"])
def test_a_function_that_is_gone_is_a_wrong_result(change: str):
    class ChangePass(ModulePass):
        name = "change"

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            (function,) = op.body.block.ops
            if change == "rename":
                function.properties["sym_name"] = StringAttr("other")
            else:
                function.detach()

    result = bisect(CHAIN, [CANONICALIZE, ChangePass()], WrongResult())
    assert result.number == 2
    assert "there is no method 'forward'" in result.detail


def test_what_depends_on_earlier_runs_is_not_reproducible():
    class EveryOtherPass(ReplacePass):
        runs = 0

        def apply_to(self, ctx: Context, op: Operation) -> None:
            type(self).runs += 1
            if self.runs % 2:
                super().apply_to(ctx, op)

    with pytest.raises(BisectionError, match="not reproducible"):
        bisect(CHAIN, [CANONICALIZE, EveryOtherPass((ReplacePattern(TanhOp, SigmoidOp),)), CSE], WrongResult())


def test_a_script_that_depends_on_chance_is_not_reproducible(tmp_path: Path):
    # What it says changes with each call.
    flaky = tmp_path / "flaky"
    flaky.write_text(f"#!/bin/sh\necho x >> {tmp_path}/calls\nexit $(($(wc -l < {tmp_path}/calls) % 2 == 0))\n")
    flaky.chmod(0o755)
    with pytest.raises(BisectionError, match=r"not reproducible|nothing to find"):
        bisect(CHAIN, [CANONICALIZE, CSE, CANONICALIZE], Script(str(flaky)))


def test_a_script_may_say_that_it_cannot_tell(tmp_path: Path):
    script = tmp_path / "script"
    script.write_text('#!/bin/sh\ngrep -q test.pureop "$1" && exit 125\n! grep -q aten.abs "$1"\n')
    script.chmod(0o755)
    bad = replace(ReluOp, AbsOp, "forward.0")
    result = bisect(CHAIN, [CANONICALIZE, OpaquePass(), bad, TransparentPass(), CSE], Script(str(script), negated=True))
    assert (result.number, result.step.name) == (3, "replace")


@pytest.mark.parametrize("others", [False, True])
def test_what_is_changed_in_place_without_a_word_is_found(others: bool):
    @dataclass(frozen=True)
    class InPlacePattern(Pattern):
        roots = (AddScalarOp,)

        def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            op.properties["other"] = AddScalarOp(op.operands[0], 3).properties["other"]

    @dataclass(frozen=True)
    class BothPass(PatternPass):
        name = "both"

        def patterns(self) -> Sequence[Pattern]:
            return [InPlacePattern(), *([ReplacePattern(ReluOp, ReluOp, ("forward.0",)), OncePattern()] if others else ())]

    @dataclass(frozen=True)
    class OncePattern(Pattern):
        """Right: puts the sigmoid behind the sum through twice a negation."""

        roots = (SigmoidOp,)

        def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
            if not isinstance(op.operands[0].owner, NegOp):
                negated = NegOp(NegOp(op.operands[0]).result)
                replace_with_values(op, [SigmoidOp(negated.result).result], rewriter)

    text = chain("tanh", "sigmoid").replace("aten.tanh(%x)", "aten.add.Scalar(%x) {other = 1.0}")
    result = bisect(text, [BothPass()], WrongResult())
    assert result.rewrite is not None
    assert result.rewrite.pattern == "InPlacePattern"
    assert any("InPlacePattern changed something and did not say so" in note for note in result.notes)
