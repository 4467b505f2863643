"""Patterns as functions: from the match of a declared graph to its replacement."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeGuard, TypeVar, cast, overload

from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from flambeau.dialects.ir.detached_operations import detached_ops
from flambeau.passes.rewriting.explanation import has_declined
from flambeau.passes.rewriting.matching import Match, Op, Part
from flambeau.passes.rewriting.pattern import Pattern, at_level_of, make_pattern, replace_with_values
from flambeau.passes.rewriting.placement import replace_several

OpT = TypeVar("OpT", bound=Operation)
Values: TypeAlias = "Operation | SSAValue | Sequence[Operation | SSAValue]"
"""What takes the place of the results of an operation: an operation with as many results, or values.

Last results that nothing reads need none."""
Replacement: TypeAlias = "Values | Mapping[Op[Any] | Operation, Values] | None"
"""What a function under `@rewrites` gives: the replacement of the root, or of several operations that matched; the root itself, when it
was changed in place; None, which leaves everything as it is."""


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

    A dictionary replaces several of the operations that matched: `{total: a, scaled: b}`. The new operations are inserted before the first
    reader of any of them; if an operand of theirs is computed later, and cannot be computed earlier, the pattern declines.

    Args:
        root: a class of operations, or a graph of `matching`.
        benefit: of several patterns that fit, that of greatest benefit is tried first.
        counter: what one application adds to the statistics of the pass.

    Raises:
        ValueError: `root` is neither. While it runs: the function gave something else, or built operations and gave nothing.

    Example:
        @rewrites(op("aten.mul.Scalar"), counter="products replaced")
        def divide_instead(mul):
            if mul.argument("other") == 0:
                return decline("nothing can be divided by zero")
            return op("aten.div.Scalar")(mul.operands[0], 1 / mul.argument("other"))


        @rewrites(m.op("aten.add.Tensor", x, scaled).commutative(), benefit=2)
        def fuse(found):
            return type(found.root)(found[x], found[y], alpha=found[factor])


        @rewrites(m.op("aten.add.Tensor", x, scaled).commutative())
        def halve_both(found):  # the product is read elsewhere too
            half = op("aten.mul.Scalar")(found[y], found[factor] / 2)
            return {scaled: half, found.root: op("aten.add.Tensor")(found[x], half)}
    """
    if isinstance(root, Op):
        return _of_graph(root, benefit, counter)
    if not _is_operation_class(root):
        message = "@rewrites(…) is given a class of operations, as op('aten.relu') finds it, or a graph of m.op(…)"
        raise ValueError(f"{message}, not {_name_of(root)!r}")
    return _of_class(root, benefit, counter)


def _is_operation_class(thing: object) -> bool:
    """Returns whether `root` is an operation class; plug-ins need not be type-checked."""
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
            _rewrite(op, (op,), lambda: function(cast(OpT, op)), function.__name__, None, rewriter)

        return make_pattern(function.__name__, [root], rewrite, benefit=benefit, counter=counter, doc=function.__doc__)

    return make


def _of_graph(graph: Op[OpT], benefit: int, counter: str) -> Callable[[Callable[[Match], Replacement]], Pattern]:
    def make(function: Callable[[Match], Replacement]) -> Pattern:
        _check_takes_one(function)

        def rewrite(self: Pattern, op: Operation, rewriter: PatternRewriter) -> None:
            found = graph.match(op)
            if found is not None:
                _rewrite(op, found.ops, lambda: function(found), function.__name__, found, rewriter)

        return make_pattern(function.__name__, graph.kinds, rewrite, benefit=benefit, counter=counter, doc=function.__doc__)

    return make


def _rewrite(
    root: Operation,
    ops: Sequence[Operation],
    function: Callable[[], object],
    giver: str,
    found: Match | None,
    rewriter: PatternRewriter,
) -> None:
    """Calls a pattern's function, and replaces what it says."""
    values = [value for op in ops for value in (*op.operands, *op.results)]
    before = [value.first_use for value in values]
    has_declined()
    replacement = function()
    if replacement is None:
        # xDSL puts new uses first.
        built = [use.operation for value, old in zip(values, before, strict=True) if (use := value.first_use) not in (None, old) and use]
        built = [op for op in built if op.parent is None]
        if built and not has_declined():
            raise ValueError(f"{giver} built {built[0].name} and gave nothing: return what replaces {root.name}, or decline(…)")
        _drop(built)
    elif replacement is root:
        rewriter.notify_op_modified(root)
    elif isinstance(replacement, Mapping):
        _replace_several(root, cast("Mapping[object, object]", replacement), giver, found, rewriter)
    elif isinstance(replacement, Operation) and not replacement.results:
        rewriter.replace(root, replacement)
    else:
        replaced = _values(root, replacement, giver)
        if any(value.owner is root for value in replaced):
            raise ValueError(f"{giver} replaced {root.name} by a result of its own; to change an operation in place, give the operation")
        replace_with_values(root, _at_level_of(root, replaced, giver), rewriter)


def _drop(built: Sequence[Operation]) -> None:
    """Erases detached operations and their readers, so that they do not count as uses of the matched values."""
    pending, doomed = list(built), dict[Operation, None]()
    while pending:
        op = pending.pop()
        if op not in doomed:
            doomed[op] = None
            pending += [use.operation for result in op.results for use in result.uses]
            pending += [value.op for value in op.operands if isinstance(value, OpResult) and value.op.parent is None]
    for op in doomed:
        op.drop_all_references()


def _replace_several(
    root: Operation, replacement: Mapping[object, object], giver: str, found: Match | None, rewriter: PatternRewriter
) -> None:
    replaced: dict[Operation, list[SSAValue]] = {}
    for key, item in replacement.items():
        op = found[key] if found is not None and _is_part(key) and key in found else key
        if not isinstance(op, Operation) or op.parent is None:
            raise ValueError(f"{giver} replaces {_described(key)}, which is not an operation that matched")
        replaced[op] = _values(op, item, giver)
    if not replaced:
        raise ValueError(f"{giver} gave an empty dictionary; None leaves everything as it is")
    flat = _at_level_of(root, [value for values in replaced.values() for value in values], giver)
    for op, values in replaced.items():
        replaced[op], flat = flat[: len(values)], flat[len(values) :]
    for new in detached_ops(value for values in replaced.values() for value in values):
        if any(isinstance(operand, OpResult) and operand.op in replaced for operand in new.operands):
            raise ValueError(f"{giver} built {new.name} from a result of what it replaces")
    if any(isinstance(value, OpResult) and value.op in replaced for values in replaced.values() for value in values):
        raise ValueError(f"{giver} gave a result of what it replaces")
    if not replace_several(root, replaced, rewriter):
        _drop([op for values in replaced.values() for op in detached_ops(values)])


def _is_part(thing: object) -> TypeGuard[Part[object]]:
    return isinstance(thing, Part)


def _values(op: Operation, replacement: object, giver: str) -> list[SSAValue]:
    """Returns the values that are to replace the results of `op`."""
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
    if len(values) != len(op.results) and (len(values) > len(op.results) or any(any(result.uses) for result in op.results[len(values) :])):
        raise ValueError(f"{op.name} has {len(op.results)} results, and is replaced by {len(values)} values")
    return values


def _at_level_of(op: Operation, values: Sequence[SSAValue], giver: str) -> list[SSAValue]:
    try:
        return at_level_of(op, values)
    except ValueError as error:
        raise ValueError(f"{giver}: {error}") from error


def _described(thing: object) -> str:
    return f"the class {thing.__name__}" if isinstance(thing, type) else f"{thing!r:.40} ({type(thing).__name__})"
