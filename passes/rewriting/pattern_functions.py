"""Patterns as functions: from the match of a declared graph to its replacement."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import TypeAlias, TypeVar, cast, overload

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.passes.rewriting.matching import Match, Op, Part
from flambeau.passes.rewriting.pattern import Pattern, at_level_of, make_pattern, replace_with_values

OpT = TypeVar("OpT", bound=Operation)
Replacement: TypeAlias = "Operation | SSAValue | Sequence[Operation | SSAValue] | None"
"""The replacement of an operation: an operation with as many results, values for its results, or the operation itself, when it was
changed in place; None leaves it as it is."""


@overload
def rewrites(root: type[OpT], *, benefit: int = 1, counter: str = "") -> Callable[[Callable[[OpT], Replacement]], Pattern]: ...


@overload
def rewrites(root: Op[OpT], *, benefit: int = 1, counter: str = "") -> Callable[[Callable[[Match], Replacement]], Pattern]: ...


def rewrites(
    root: type[OpT] | Op[OpT], *, benefit: int = 1, counter: str = ""
) -> Callable[[Callable[[OpT], Replacement]], Pattern] | Callable[[Callable[[Match], Replacement]], Pattern]:
    """Makes a pattern of the function below, whose name it takes.

    The function gets the operation, or the match when `root` is a graph. It gives what replaces it; new operations are made detached,
    and inserted with the location and the names of what they replace. A function that changed the operation itself gives that. None, as
    from `decline("why")`, leaves everything as it is. New operators of `aten` take the level of what they replace, be it `core` or `edge`.

    Args:
        root: a class of operations, or a graph of `matching`.
        benefit: of several patterns that fit, that of greatest benefit is tried first.
        counter: what one application adds to the statistics of the pass.

    Raises:
        ValueError: `root` is neither.

    Example:
        @rewrites(op("aten.mul.Scalar"), counter="products replaced")
        def divide_instead(mul):
            if mul.argument("other") == 0:
                return decline("nothing can be divided by zero")
            return op("aten.div.Scalar")(mul.operands[0], 1 / mul.argument("other"))


        @rewrites(m.op("aten.add.Tensor", x, scaled).commutative(), benefit=2)
        def fuse(found):
            return type(found.root)(found[x], found[y], alpha=found[factor])
    """
    if isinstance(root, Op):
        return _of_graph(root, benefit, counter)
    if not _is_operation_class(root):
        message = "@rewrites(…) is given a class of operations, as op('aten.relu') finds it, or a graph of m.op(…)"
        raise ValueError(f"{message}, not {_name_of(root)!r}")
    return _of_class(root, benefit, counter)


def _is_operation_class(thing: object) -> bool:
    """Plug-ins need not be type-checked."""
    return isinstance(thing, type) and issubclass(thing, Operation)


def _check_takes_one(function: Callable[..., object]) -> None:
    """Raises ValueError for a function that cannot be given what matched."""
    signature = inspect.signature(function)
    try:
        signature.bind(None)
    except TypeError:
        raise ValueError(f"{function.__name__}{signature} is given one argument, what matched") from None


def _name_of(thing: object) -> str:
    return thing if isinstance(thing, str) else getattr(thing, "__name__", type(thing).__name__)


def _of_class(root: type[OpT], benefit: int, counter: str) -> Callable[[Callable[[OpT], Replacement]], Pattern]:
    def make(function: Callable[[OpT], Replacement]) -> Pattern:
        _check_takes_one(function)

        def rewrite(self: Pattern, op: Operation, rewriter: PatternRewriter) -> None:
            _replace(op, function(cast(OpT, op)), function.__name__, rewriter)

        return make_pattern(function.__name__, [root], rewrite, benefit=benefit, counter=counter, doc=function.__doc__)

    return make


def _of_graph(graph: Op[OpT], benefit: int, counter: str) -> Callable[[Callable[[Match], Replacement]], Pattern]:
    def make(function: Callable[[Match], Replacement]) -> Pattern:
        _check_takes_one(function)

        def rewrite(self: Pattern, op: Operation, rewriter: PatternRewriter) -> None:
            found = graph.match(op)
            if found is not None:
                _replace(op, function(found), function.__name__, rewriter)

        return make_pattern(function.__name__, graph.kinds, rewrite, benefit=benefit, counter=counter, doc=function.__doc__)

    return make


def _replace(op: Operation, replacement: object, giver: str, rewriter: PatternRewriter) -> None:
    if replacement is None:
        return
    if replacement is op:
        rewriter.notify_op_modified(op)
        return
    if isinstance(replacement, Operation) and not replacement.results:
        rewriter.replace(op, replacement)
        return
    values: list[SSAValue] = []
    for item in cast("Sequence[object]", replacement) if isinstance(replacement, list | tuple) else [replacement]:
        if isinstance(item, Operation):
            values += item.results
        elif isinstance(item, SSAValue):
            values.append(cast("SSAValue[Attribute]", item))
        elif isinstance(item, Part):
            raise ValueError(f"{giver} gave a part of a graph: m.op(…) is for matching; call op(…)(…) to make an operation")
        else:
            raise ValueError(f"{giver} gave {_described(item)} where operations or values are to replace {op.name}")
    if any(value.owner is op for value in values):
        raise ValueError(f"{giver} replaced {op.name} by a result of its own; to change an operation in place, give the operation")
    if len(values) != len(op.results):
        raise ValueError(f"{op.name} has {len(op.results)} results, and is replaced by {len(values)} values")
    try:
        values = at_level_of(op, values)
    except ValueError as error:
        raise ValueError(f"{giver}: {error}") from error
    replace_with_values(op, values, rewriter)


def _described(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"{thing!r:.40} ({type(thing).__name__})"
