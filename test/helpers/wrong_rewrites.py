"""A pass that replaces operators by others, and the bisection of a pipeline with it: for tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from chains import chain
from xdsl.ir import Operation
from xdsl.passes import ModulePass
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.text.module_text import parse_module, print_module
from flambeau.passes.manager import PatternPass, Pipeline
from flambeau.passes.rewriting.pattern import Pattern, replace_with_values
from flambeau.tools.bisection import Bisection, BisectionResult
from flambeau.tools.predicates.predicate import Predicate, Question


@dataclass(frozen=True)
class ReplacePattern(Pattern):
    """Puts an operator in the place of another, in the layers that are listed or in all."""

    kind: type[SchemaOp]
    by: type[SchemaOp]
    layers: tuple[str, ...] = ()
    roots = (SchemaOp,)

    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        if isinstance(op, self.kind) and (not self.layers or any(f'"{layer}"' in str(op.location) for layer in self.layers)):
            replace_with_values(op, [self.by(op.operands[0]).result], rewriter)


@dataclass(frozen=True)
class ReplacePass(PatternPass):
    name = "replace"
    items: tuple[ReplacePattern, ...] = ()

    def patterns(self) -> Sequence[Pattern]:
        return self.items


def replace(kind: type[SchemaOp], by: type[SchemaOp], *layers: str) -> ReplacePass:
    return ReplacePass((ReplacePattern(kind, by, layers),))


def bisect(text: str, pipeline: Pipeline | Sequence[ModulePass], question: Question) -> BisectionResult:
    context = FlambeauContext()
    parsed = parse_module(text, context, "model.mlir")
    before = print_module(parsed.module)
    whole = pipeline if isinstance(pipeline, Pipeline) else Pipeline.of(pipeline)
    result = Bisection(parsed.module, context, Predicate(whole, question), parsed).run()
    assert print_module(parsed.module) == before, "the input is not changed"
    return result


CANONICALIZE, CSE = Pipeline.parse("canonicalize,cse").passes()
CHAIN = chain("relu", "tanh", "relu", "sigmoid", "relu", "tanh", "relu")
