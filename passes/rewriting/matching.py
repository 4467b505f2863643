"""Graphs of operations to match, declared: the requirements on an operation and on those behind its operands.

A graph is made of parts, and each part is the key of the object that it matched. A part that a graph contains twice must match the same
object in both places. Arguments of ATen operators that a graph does not mention must be absent or have their default, so that a rewrite
loses none by oversight.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import EllipsisType
from typing import Any, Generic, Self, TypeAlias, TypeVar, cast, overload

from xdsl.ir import Attribute, Operation, OpResult, SSAValue

from flambeau.dialects.ir.tensor_types import element_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.explanation import current_trace, decline
from flambeau.passes.rewriting.legality import name_of
from flambeau.passes.rewriting.lookup import op as find
from flambeau.passes.rewriting.mismatches import described, note_miss, operand_place
from flambeau.support.lazy import Array

T = TypeVar("T")
OpT = TypeVar("OpT", bound=Operation)
Found: TypeAlias = "dict[Part[Any], Any]"
"""The operations and values that the parts have matched so far."""
Argument: TypeAlias = "Part[Any] | Sequence[Part[Any]] | None"
"""The requirement on one operand: a part, several parts for a list of tensors, or absence."""


class Match:
    """The match of each part of a graph: `found[part]`.

    A value gives an `SSAValue`, an operation the `Operation`, an attribute of an ATen operator a Python value, a constant its array.
    """

    def __init__(self, root: Operation, found: Mapping[Part[Any], Any]):
        self.root = root
        """The operation that the graph ends in."""
        self._found = found

    def __getitem__(self, part: Part[T]) -> T:
        """Returns the operation or value that `part` matched.

        Raises:
            KeyError: it belongs to an alternative that was not taken, or to no part of the graph.
        """
        if part not in self._found:
            raise KeyError(
                "this is not a part of the graph that matched: it belongs to another graph, or to an alternative that was not taken"
            )
        return cast(T, self._found[part])

    def __contains__(self, part: Part[Any]) -> bool:
        """Returns whether `part` matched."""
        return part in self._found

    @property
    def ops(self) -> tuple[Operation, ...]:
        """The operations that matched, the root first."""
        return tuple(item for item in self._found.values() if isinstance(item, Operation))


class Part(ABC, Generic[T]):
    """A part of a graph that matches an object of type T. The functions at the end of this module make parts."""

    def __init__(self) -> None:
        self._conditions: list[Callable[[T], bool]] = []
        self.requirements: list[tuple[Callable[[T], bool], str]] = []
        """The conditions to check once everything else fits, each with the reason to give when it does not hold."""

    def where(self, condition: Callable[[T], bool], otherwise: str | None = None) -> Self:
        """Adds a condition on the matched object, and returns this part.

        Args:
            condition: receives the object that `found[part]` would return, and returns whether the object fits.
            otherwise: the reason to `decline` with if everything else matches. Without a reason, the graph does not match, silently.

        Example:
            integer = m.attribute().where(lambda number: number == int(number), "the factor is not an integer")
            assert m.op("aten.mul.Scalar", y, other=integer).match(product) is None
        """
        if otherwise is None:
            self._conditions.append(condition)
        else:
            self.requirements.append((condition, otherwise))
        return self

    @abstractmethod
    def solutions(self, candidate: Any, found: Found) -> Iterator[Found]:
        """Returns every way in which the candidate fits, given what other parts have matched."""

    def mismatch(self, candidate: Any, found: Found) -> str:
        """Returns why the candidate has no solution, as the end of a sentence about it."""
        if self in found:
            return f"is not {described(found[self])}, which the same part of the graph matched elsewhere"
        if isinstance(candidate, SSAValue):
            return f"is {described(candidate)}, which a condition of the graph refuses"
        return f"is {described(candidate)}, which the graph does not take"

    def _same(self, first: T, second: T) -> bool:
        """Returns whether two matches of this part are the same. Values and operations are the same only if they are identical."""
        return first == second

    def _bound(self, matched: T, found: Found) -> Iterator[Found]:
        """Yields the solution in which this part matches `matched`, if the conditions hold."""
        if self in found:
            if self._same(found[self], matched):
                yield found
            return
        if all(condition(matched) for condition in self._conditions):
            yield {**found, self: matched}


class Value(Part[SSAValue]):
    """A value, wherever it comes from."""

    def solutions(self, candidate: Any, found: Found) -> Iterator[Found]:
        """Yields one solution if `candidate` is a value and the conditions hold."""
        if isinstance(candidate, SSAValue):
            yield from self._bound(cast(SSAValue, candidate), found)


class Literal(Part[Any]):
    """An argument that is not a tensor, as a Python value."""

    def solutions(self, candidate: Any, found: Found) -> Iterator[Found]:
        """Yields one solution if the conditions hold."""
        yield from self._bound(candidate, found)


class Constant(Part[Array]):
    """The elements of a value that loads a constant global."""

    def __init__(self, constants: ModuleConstants):
        super().__init__()
        self._constants = constants

    def solutions(self, candidate: Any, found: Found) -> Iterator[Found]:
        """Yields one solution if `candidate` loads a constant global and the conditions hold."""
        array = self._constants.array(cast(SSAValue, candidate)) if isinstance(candidate, SSAValue) else None
        if array is not None:
            yield from self._bound(array, found)

    def mismatch(self, candidate: Any, found: Found) -> str:
        """Returns why the candidate has no solution, such as that it is no constant."""
        if isinstance(candidate, SSAValue) and self._constants.array(cast(SSAValue, candidate)) is None:
            return f"is {described(candidate)}, which is not a constant"
        return super().mismatch(candidate, found)

    def _same(self, first: Array, second: Array) -> bool:
        return first.dtype == second.dtype and first.shape == second.shape and bool((first == second).all())


class Op(Part[OpT]):
    """An operation; as an operand, its only result."""

    def __init__(self, kinds: tuple[type[OpT], ...], operands: Sequence[Argument], more: bool, arguments: Mapping[str, Any]):
        super().__init__()
        self.kinds = kinds
        self._operands = operands
        self._more = more
        self._arguments = arguments
        self._commutative = False

    def commutative(self) -> Self:
        """Lets the first two operands stand in either order."""
        if len(self._operands) < 2:
            raise ValueError("an operation of fewer than two operands has nothing to swap")
        self._commutative = True
        return self

    def one_use(self) -> Self:
        """Requires that the results have one reader in total, so that rewriting the reader makes the operation dead."""
        return self.where(lambda op: sum(1 for result in op.results for _ in result.uses) == 1, "something else reads what would be fused")

    def result(self, index: int) -> Part[SSAValue]:
        """Returns a part that matches result number `index` of the operation."""
        return _Result(self, index)

    def match(self, op: Operation) -> Match | None:
        """Returns the match of the graph that ends in `op`; None when there is none. `@rewrites(graph)` does this for patterns."""
        missing = None
        if (trace := current_trace()) is not None:
            trace.miss(0, f"it {self.mismatch(op, {})}")
        for found in self.at(op, {}):
            missing = next((why for part, item in found.items() for holds, why in part.requirements if not holds(item)), None)
            if missing is None:
                return Match(op, found)
        if missing is not None:
            decline(missing)
        return None

    def solutions(self, candidate: Any, found: Found) -> Iterator[Found]:
        """Yields the solutions for the operation whose only result is the candidate."""
        if isinstance(candidate, OpResult) and len(candidate.op.results) == 1:
            yield from self.at(candidate.op, found)

    def mismatch(self, candidate: Any, found: Found) -> str:
        """Returns why the candidate has no solution, such as the operation found instead."""
        op = cast(OpResult, candidate).op if isinstance(candidate, OpResult) else cast(object, candidate)
        wanted = " or ".join(kind.name for kind in self.kinds)
        if not isinstance(op, self.kinds):
            return f"is {described(cast(object, candidate))}, not {wanted}"
        if isinstance(candidate, OpResult) and len(op.results) != 1:
            return f"is one of {len(op.results)} results of {name_of(op)}; .result(index) says which of them the graph wants"
        operands, _ = _signature(op)
        if len(operands) != len(self._operands) and not (self._more and len(operands) > len(self._operands)):
            return f"is {described(cast(object, candidate))}, which has {len(operands)} operands; the graph gives it {len(self._operands)}"
        return super().mismatch(cast(object, candidate), found)

    def at(self, op: Operation, found: Found) -> Iterator[Found]:
        """Yields every way in which `op` fits, given what other parts have matched."""
        if not isinstance(op, self.kinds):
            return
        if self in found:
            yield from self._bound(op, found)
            return
        operands, arguments = _signature(op)
        if len(operands) < len(self._operands) or (len(operands) > len(self._operands) and not self._more):
            return
        for solution in self._bound(op, found):
            for complete in self._with_arguments(op, arguments, solution):
                yield from _each(self._operands, operands, complete, op)
                if self._commutative:
                    yield from _each(self._operands, (operands[1], operands[0], *operands[2:]), complete, op)

    def _with_arguments(self, op: OpT, arguments: Mapping[str, Any], found: Found) -> Iterator[Found]:
        wanted: dict[str, Part[Any]] = {}
        for name, part in self._arguments.items():
            if isinstance(part, Part):
                wanted[name] = cast("Part[Any]", part)
            elif arguments.get(name) != part:
                note_miss(len(found), op, f"attribute {name!r}", f"is {arguments.get(name)!r}; the graph wants {part!r}")
                return
        if isinstance(op, SchemaOp):
            known = op.schema.attributes
            for name, value in arguments.items():
                if value != known[name].default and name not in self._arguments and name not in op.schema.backend_flags:
                    note_miss(len(found), op, f"attribute {name!r}", f"is {value!r}; the graph does not name it, so it must be the default")
                    return
        yield from _each(list(wanted.values()), [arguments.get(name) for name in wanted], found, op, list(wanted))


class _Result(Part[SSAValue]):
    def __init__(self, op: Op[Any], index: int):
        super().__init__()
        self._op = op
        self._index = index

    def solutions(self, candidate: Any, found: Found) -> Iterator[Found]:
        if isinstance(candidate, OpResult) and candidate.index == self._index:
            for solution in self._op.at(candidate.op, found):
                yield from self._bound(cast(SSAValue, candidate), solution)


class _Either(Part[Any]):
    def __init__(self, parts: tuple[Argument, ...]):
        super().__init__()
        self._parts = parts

    def solutions(self, candidate: Any, found: Found) -> Iterator[Found]:
        for part in self._parts:
            for solution in _one(part, candidate, found):
                yield from self._bound(candidate, solution)

    def mismatch(self, candidate: Any, found: Found) -> str:
        reasons = (_why_not(part, cast(object, candidate), found) for part in self._parts if part is not None or len(self._parts) == 1)
        return ", and ".join(dict.fromkeys(reasons))


class _All(Part[Any]):
    def __init__(self, parts: tuple[Part[Any], ...]):
        super().__init__()
        self._parts = parts

    def solutions(self, candidate: Any, found: Found) -> Iterator[Found]:
        for solution in _each(self._parts, [candidate] * len(self._parts), found):
            yield from self._bound(candidate, solution)

    def mismatch(self, candidate: Any, found: Found) -> str:
        failed = (part for part in self._parts if next(part.solutions(candidate, found), None) is None)
        return next((part.mismatch(candidate, found) for part in failed), super().mismatch(candidate, found))


def _signature(op: Operation) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Returns the operands of an operation, absent ones and lists among them, and its other arguments by name."""
    if not isinstance(op, SchemaOp):
        return op.operands, {**op.properties, **op.attributes}
    operands: list[Any] = []
    others: dict[str, Any] = {}
    for argument, value in zip(op.schema.arguments, op.arguments(), strict=True):
        if argument.type.is_tensor:
            operands.append(value)
        else:
            others[argument.name] = value
    return operands, others


def _each(
    parts: Sequence[Argument], candidates: Sequence[Any], found: Found, op: Operation | None = None, names: Sequence[str] = ()
) -> Iterator[Found]:
    """Yields every way in which each candidate fits its part. The candidates are operands of `op`, or its attributes called `names`."""
    if not parts:
        yield found
        return
    first, rest = parts[0], parts[1:]
    fits = False
    for solution in _one(first, candidates[0], found):
        fits = True
        yield from _each(rest, candidates[1:], solution, op, names[1:])
    if not fits and op is not None and current_trace() is not None:
        note_miss(
            len(found), op, f"attribute {names[0]!r}" if names else operand_place(op, candidates[0]), _why_not(first, candidates[0], found)
        )


def _one(part: Argument, candidate: Any, found: Found) -> Iterator[Found]:
    if isinstance(part, Part):
        yield from part.solutions(candidate, found)
    elif part is None:
        if candidate is None:
            yield found
    elif isinstance(candidate, Sequence) and len(items := cast("Sequence[Any]", candidate)) == len(part):
        yield from _each(part, items, found)


def _why_not(part: Argument, candidate: Any, found: Found) -> str:
    if isinstance(part, Part):
        return part.mismatch(candidate, found)
    if part is None:
        return f"is {described(candidate)}; the graph wants it absent"
    return f"is {described(candidate)}; the graph wants a list of {len(part)}, each of which fits"


@overload
def op(kind: str, *operands: Argument | EllipsisType, **arguments: Any) -> Op[SchemaOp]: ...


@overload
def op(kind: type[OpT] | tuple[type[OpT], ...], *operands: Argument | EllipsisType, **arguments: Any) -> Op[OpT]: ...


def op(kind: Any, *operands: Argument | EllipsisType, **arguments: Any) -> Op[Any]:
    """Returns a part that matches an operation of a class, or of one of several classes.

    The class of a row (`AddTensorOp`, or `"aten.add.Tensor"`) matches the operator at every level; `AddTensorOp.at("edge")`, or
    `"edge.add.Tensor"`, matches the operator at one level.

    Args:
        kind: the class or classes, or an operator's name.
        operands: a part for each operand, a list of parts for a list of tensors, None for an absent operand. `...` at the end allows any
            further operands.
        arguments: for an attribute, the value that it must have, or a part. The attributes of an ATen operator are Python values, and
            attributes without an argument must have their default. The attributes of other operations are attributes of the IR.

    Raises:
        ValueError: there is no such operator, or it has no such operand or attribute.

    Example:
        x, y, factor = m.value(), m.value(), m.attribute()
        scaled = m.op("aten.mul.Scalar", y, other=factor).one_use()
        graph = m.op("aten.add.Tensor", x, scaled).commutative()

        found = graph.match(total)
        assert found[factor] == 0.5  # the number itself
        assert found[y].name_hint == "y" and found[scaled] is product
        assert graph.match(product) is None
    """
    more = bool(operands) and operands[-1] is ...
    parts = operands[:-1] if more else operands
    if any(part is ... for part in parts):
        raise ValueError("... may only stand for the last operands")
    for part in parts:
        _check_argument(part)
    kinds = cast("tuple[type[Operation], ...]", kind if isinstance(kind, tuple) else (find(kind) if isinstance(kind, str) else kind,))
    for item in kinds:
        if issubclass(item, SchemaOp):
            _check(item, len(parts), more, arguments)
    return Op(kinds, cast("tuple[Argument, ...]", parts), more, arguments)


def _check_argument(part: object) -> None:
    """Raises ValueError for an object that is not a part, because plug-ins need not be type-checked."""
    if isinstance(part, list | tuple):
        for item in cast("Sequence[object]", part):
            _check_argument(item)
    elif part is not None and not isinstance(part, Part):
        kind = part.__name__ if isinstance(part, type) else f"{part!r:.40}"
        raise ValueError(f"an operand to match is a part such as m.value() or m.op(…), a list of parts, or None for absence, not {kind}")


def _check(kind: type[SchemaOp], operands: int, more: bool, arguments: Mapping[str, Any]) -> None:
    """Raises ValueError for a graph that no operation can match."""
    schema = kind.schema
    if operands > len(schema.operands) or (operands < len(schema.operands) and not more):
        names = ", ".join(argument.name for argument in schema.operands)
        raise ValueError(f"{kind.name} has the operands {names}; the graph gives it {operands}")
    for name in arguments:
        if name not in schema.attributes:
            raise ValueError(f"{kind.name} has no attribute {name!r}; it has {', '.join(schema.attributes) or 'none'}")


def value(element: Attribute | None = None) -> Value:
    """Returns a part that matches any value, or any tensor of an element type. `found[part]` is the `SSAValue`.

    Example:
        from xdsl.dialects.builtin import f16

        assert m.op("aten.mul.Scalar", m.value(f16), other=m.attribute()).match(product) is None  # it is f32
    """
    return Value() if element is None else Value().where(lambda found: element_of(found) == element)


def attribute() -> Literal:
    """Returns a part that matches any value of an argument that is not a tensor.

    `found[part]` is, for an operator of `aten`, `core` or `edge`, a Python value: a number, a truth value, a string, a tuple for a list, a
    type for a dtype. If the text omits the argument, the value is the schema's default, or None. For other operations, the value is the
    attribute, or None.

    Example:
        exponent = m.attribute()
        assert m.op("aten.mul.Scalar", m.value(), other=exponent).match(product)[exponent] == 0.5
    """
    return Literal()


def constant(constants: ModuleConstants) -> Constant:
    """Returns a part that matches a value with known elements: a weight, or a folded constant. `found[part]` is a read-only numpy array.

    Example:
        import numpy as np

        constants = ModuleConstants(context, module)
        one = constants.add("one", np.ones(4, np.float32), tensor(element_of(total.result), [4]))
        weight = m.constant(constants).where(lambda array: (array == 1).all())
        increment = m.op("aten.add.Tensor", m.value(), weight)
        assert increment.match(op("aten.add.Tensor")(total.result, one.result)) is not None
        assert increment.match(total) is None
    """
    return Constant(constants)


def either(*parts: Argument) -> Part[Any]:
    """Returns a part that matches any of several parts; the first that lets the whole graph match counts. None matches absence.

    Example:
        negated = m.op("aten.neg", y)
        graph = m.op("aten.add.Tensor", x, m.either(negated, y)).commutative()
        assert negated not in graph.match(total)  # asks which of them it was
    """
    for part in parts:
        _check_argument(part)
    return _Either(parts)


def optional(part: Argument) -> Part[Any]:
    """Returns a part that matches another part, or an absent operand. `found[part]` of `part = m.optional(…)` is the value, or None.

    Example:
        upper = m.optional(m.value())
        graph = m.op("aten.clamp.Tensor", m.value(), m.value(), upper)
        assert graph.match(op("aten.clamp.Tensor")(total, total, None))[upper] is None
        assert graph.match(op("aten.clamp.Tensor")(total, total, total))[upper] is total.result
    """
    return either(part, None)


def all_of(*parts: Part[Any]) -> Part[Any]:
    """Returns a part that matches if several parts all match the same operand.

    Example:
        result = m.value()  # both the value and the operation that makes it are wanted
        graph = m.op("aten.add.Tensor", m.all_of(result, scaled), x)
        assert graph.match(total)[result] is graph.match(total)[scaled].result
    """
    return _All(parts)
