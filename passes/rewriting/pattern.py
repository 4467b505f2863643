"""Patterns: local rewrites, each rooted at operations of some classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import ClassVar, cast

from xdsl.ir import Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.rewriter import InsertPoint

from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp


class Pattern(ABC):
    """A local rewrite, as a class: for what a function under `@rewrites` cannot say.

    Example:
        class AddNothingPattern(Pattern):
            roots = (op("aten.add.Scalar"),)

            def rewrite(self, op, rewriter):
                if op.argument("other") == 0:
                    rewriter.replace(op, [], [op.operands[0]])
    """

    roots: ClassVar[tuple[type[Operation], ...]]
    """The operations that it is tried on, by class; subclasses too, and the class of an operator stands for its siblings of all levels."""
    benefit: ClassVar[int] = 1
    """Of the patterns that fit an operation, those of greater benefit are tried first; equal ones in the order in which they are given."""
    counter: ClassVar[str] = ""
    """The counter that one application adds to in the statistics of its pass, such as `kernels fused`; none when empty."""

    @abstractmethod
    def rewrite(self, op: Operation, rewriter: PatternRewriter) -> None:
        """Rewrites `op` through `rewriter`, or leaves everything as it is when it does not match, and may `decline` then with a reason."""


def make_pattern(
    name: str,
    roots: Sequence[type[Operation]],
    rewrite: Callable[[Pattern, Operation, PatternRewriter], None],
    *,
    benefit: int = 1,
    counter: str = "",
    doc: str | None = None,
) -> Pattern:
    """Returns a pattern of this name, without writing a class for it."""
    members = {"roots": tuple(roots) or (Operation,), "benefit": benefit, "counter": counter, "rewrite": rewrite, "__doc__": doc}
    return cast("type[Pattern]", type(name, (Pattern,), members))()


def from_xdsl(inner: RewritePattern, *roots: type[Operation], benefit: int = 1) -> Pattern:
    """Returns a pattern of xDSL's as one of ours, tried on operations of the classes `roots`, or on all when none is named.

    Example:
        from xdsl.dialects.arith import SelectOp
        from xdsl.transforms.canonicalization_patterns.arith import SelectConstPattern

        pattern = from_xdsl(SelectConstPattern(), SelectOp)
    """

    def rewrite(self: Pattern, op: Operation, rewriter: PatternRewriter) -> None:
        inner.match_and_rewrite(op, rewriter)

    return make_pattern(type(inner).__name__, roots, rewrite, benefit=benefit, doc=type(inner).__doc__)


def replace_with_values(op: Operation, values: Sequence[SSAValue], rewriter: PatternRewriter) -> None:
    """Replaces `op` by `values`; operations behind them that stand nowhere yet are inserted before `op`, with its location and names.

    What `@rewrites` does with what its function gives, for patterns that are classes. New operators of `aten` take the level of `op`.
    The last results of `op` need no values if nothing reads them.

    Raises:
        ValueError: one of them does not exist there.
    """
    replace_with_any_level(op, at_level_of(op, values), rewriter)


def replace_with_any_level(op: Operation, values: Sequence[SSAValue], rewriter: PatternRewriter) -> None:
    """Replaces `op` as `replace_with_values` does, by new operators of the levels that they were built of."""
    for old, new in zip(op.results, values, strict=False):
        if old.name_hint is not None and isinstance(new, OpResult) and new.op.parent is None and new.name_hint is None:
            new.name_hint = old.name_hint
    for new_op in detached_ops(values):
        rewriter.insert(new_op, InsertPoint.before(op))
    rewriter.replace(op, [], [*values, *(None for _ in op.results[len(values) :])])


def at_level_of(op: Operation, values: Sequence[SSAValue]) -> list[SSAValue]:
    """Returns the values, with the operators of `aten` behind them that stand nowhere yet replaced by their siblings of the level of `op`.

    A pattern that finds the class of a row matches at every level, so what it builds of such classes belongs to the level where it matched.

    Raises:
        ValueError: there is no such sibling.
    """
    level = op.level() if isinstance(op, SchemaOp) and op.siblings["row"].level() == "aten" else "aten"
    settled = list(values)
    if level == "aten":
        return settled
    for new in list(detached_ops(values)):
        if not isinstance(new, SchemaOp) or new.level() != "aten":
            continue
        kind = type(new).at(level)
        if find_op(kind.name) is not kind:
            raise ValueError(f"{new.name} takes the place of {op.name}, and the {level} level has no such operator")
        moved = new.rebuilt(level=level)
        rename_values(new, moved)
        replaced = dict(zip(new.results, moved.results, strict=True))
        settled = [replaced.get(value, value) if isinstance(value, OpResult) else value for value in settled]
        for old, result in replaced.items():
            old.replace_all_uses_with(result)
        new.erase()
    return settled


def rename_values(op: Operation, new: Operation, make_name: Callable[[str], str] = str) -> None:
    """Gives the results of `new` the name hints of those of `op`."""
    for old_result, new_result in zip(op.results, new.results, strict=True):
        if old_result.name_hint is not None:
            new_result.name_hint = make_name(old_result.name_hint)
