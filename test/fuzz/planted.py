"""Wrong rewrites planted in random modules: bisect names exactly that one, and reduce ends with a small module that shows it.

A case is a module, below a line that says what goes wrong and at which operation.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, UnitAttr
from xdsl.ir import Operation

from flambeau.dialects.ir.verify import VerificationError, verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import IRError, parse_module, verify_parsed
from flambeau.passes.manager import OperationPass, Pipeline
from flambeau.passes.rewriting.actions import may_rewrite
from flambeau.tools.bisection import Bisection
from flambeau.tools.predicates.predicate import Predicate, run_pipeline
from flambeau.tools.predicates.wrong_result import WrongResult
from flambeau.tools.reduction import reduce_module
from flambeau.tools.semantics.reference_results import Reference, SemanticsError
from fuzz.campaign import Campaign, Failure
from fuzz.modules import random_module

_BUGS = ("swap", "drop", "number", "other")


def _plant(op: SchemaOp, bug: str) -> bool:
    """Does something wrong with an operation, if it is one for it."""
    match bug:
        case "swap":
            if len(op.operands) < 2 or op.operands[0].type != op.operands[1].type or op.operands[0] is op.operands[1]:
                return False
            op.operands[0], op.operands[1] = op.operands[1], op.operands[0]
        case "drop":
            same = next((operand for operand in op.operands if operand.type == op.results[0].type), None)
            if same is None:
                return False
            op.results[0].replace_all_uses_with(same)
        case "number":
            name = next((name for name, value in op.properties.items() if isinstance(value, IntegerAttr)), None)
            if name is None:
                return False
            before = cast("IntegerAttr[Any]", op.properties[name])
            op.properties[name] = IntegerAttr(before.value.data + 1, before.type)
            try:
                op.verify_()
            except Exception:
                op.properties[name] = before
                return False
        case _:
            other = find_op("aten.neg")
            if other is None or op.schema.base not in ("relu", "sigmoid", "clone"):
                return False
            block = op.parent
            assert block is not None
            new = other(op.operands[0])
            block.insert_op_before(new, op)
            op.results[0].replace_all_uses_with(new.results[0])
    return True


@dataclass(frozen=True)
class _PlantedPass(OperationPass):
    """Marks every operation; at the chosen one, or at each that it can where none is chosen, it does something wrong."""

    name = "planted"
    bug: str = "swap"
    at: int = -1

    def apply_to(self, ctx: Context, op: Operation) -> None:
        matches = [inner for inner in op.walk() if isinstance(inner, SchemaOp)]
        for number, inner in enumerate(matches):
            if may_rewrite(self.name, inner):
                if self.at in (number, -1):
                    _plant(inner, self.bug)
                else:
                    inner.attributes["note"] = UnitAttr()


def make(chosen: random.Random) -> str:
    """A bug, where it is, and a module."""
    text = random_module(chosen, size=chosen.choice((5, 15, 40)))
    return f"// {chosen.choice(_BUGS)} {chosen.randrange(-8, 30)}\n{text}"


def check(case: str) -> str:
    """Bisects, or reduces where the bug is everywhere."""
    head, _, text = case.partition("\n")
    _, bug, at = head.split(" ")
    context = FlambeauContext()
    try:
        parsed = parse_module(text, context)
        verify_parsed(parsed)
    except IRError:
        return "no case"
    everywhere = int(at) < 0
    pipeline = Pipeline.parse("canonicalize,cse" if everywhere else "cse")
    planted = _PlantedPass(bug, -1 if everywhere else int(at))
    whole = Pipeline.of([*pipeline.passes(), planted, *Pipeline.parse("canonicalize,cse").passes()])
    predicate = Predicate(whole, WrongResult())
    outcome = run_pipeline(whole, parsed.module, context)
    if outcome.error is not None:
        return "the bug is no valid module"
    try:
        if Reference(parsed.module, context).difference(outcome.module, outcome.context) is None:
            return "the bug is harmless"
    except SemanticsError:
        return "cannot be run"
    if everywhere:
        reduced = reduce_module(parsed.module, context, lambda module, found: bool(predicate.check(module, found)), max_tests=400).module
        try:
            verify_module(reduced)
        except VerificationError as error:
            raise Failure("what is left is not valid", f"{error}\n{reduced}") from error
        if not predicate.check(reduced, context):
            raise Failure("what is left does not show it", str(reduced))
        left = sum(isinstance(op, SchemaOp) for op in reduced.walk())
        if left > 3:
            raise Failure("what is left is not small", str(reduced))
        return "reduced"
    result = Bisection(parsed.module, context, predicate, parsed).run()
    if result.step.name != "planted" or result.rewrite is None or result.rewrite.attempt != int(at) + 1:
        named = None if result.rewrite is None else result.rewrite.attempt
        raise Failure("another rewrite is named", f"{result.step.name} {named} instead of {int(at) + 1}: {result.reason}")
    return "found"


CAMPAIGN = Campaign(make, check, limit=90)
