"""Graphs of operations to match, declared: the requirements on an operation and on those behind its operands.

A graph is made of parts, and a part is at once the key of what it matched. A part that stands in a graph twice must match the same both
times. Arguments of ATen operators that a graph does not mention must be absent or have their default, so that nothing is lost by
oversight.
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
        """Returns whether `part` belongs to what matched."""
        return part in self._found

    @property
    def ops(self) -> tuple[Operation, ...]:
        """The operations that matched, the root first."""
        return tuple(item for item in self._found.values() if isinstance(item, Operation))


class Part(ABC, Generic[T]):
    """A part of a graph, which matches something of type T. The functions above make them."""

    def __init__(self) -> None:
        self._conditions: list[Callable[[T], bool]] = []
        self.requirements: list[tuple[Callable[[T], bool], str]] = []
        """The conditions to check once everything else fits, each with the reason to give when it does not hold."""

    def where(self, condition: Callable[[T], bool], otherwise: str | None = None) -> Self:
        """Requires more of what is matched, and gives the part itself.

        Args:
            condition: gets what `found[part]` would give.
            otherwise: the reason to `decline` with when everything but this holds; without it, the graph does not match, silently.

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
        """Returns whether two places where this part stands match the same: equal values and operations are identical ones."""
        return first == second

    def _bound(self, matched: T, found: Found) -> Iterator[Found]:
        """Yields the one way in which this part stands for `matched`, if there is any."""
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
        """Says whether it is a constant at all."""
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
        """Requires one reader of its results: the operation is dead once that is rewritten."""
        return self.where(lambda op: sum(1 for result in op.results for _ in result.uses) == 1, "something else reads what would be fused")

    def result(self, index: int) -> Part[SSAValue]:
        """Returns one of several results, as an operand."""
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
        """Yields those with the operation behind the candidate."""
        if isinstance(candidate, OpResult) and len(candidate.op.results) == 1:
            yield from self.at(candidate.op, found)

    def mismatch(self, candidate: Any, found: Found) -> str:
        """Says which operation is there instead."""
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
    """Yields every way in which each candidate fits its part. They are the operands of `op`, or its attributes of these names."""
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
    """Returns an operation of a class, or of one of several.

    The class of a row (`AddTensorOp`, or `"aten.add.Tensor"`) stands for its siblings of all levels; `AddTensorOp.at("edge")`, or
    `"edge.add.Tensor"`, for one of them.

    Args:
        kind: the class or classes, or an operator's name.
        operands: what each operand is: a part, a list of parts for a list of tensors, None for an absent one. `...` at the end lets the
            others be anything.
        arguments: what attributes are: a value that they must equal, or a part. For an ATen operator they are Python values, and those
            not named must have their default; for others they are attributes.

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
    """Raises ValueError for what is not a part; plug-ins need not be type-checked."""
    if isinstance(part, list | tuple):
        for item in cast("Sequence[object]", part):
            _check_argument(item)
    elif part is not None and not isinstance(part, Part):
        kind = part.__name__ if isinstance(part, type) else f"{part!r:.40}"
        raise ValueError(f"an operand to match is a part such as m.value() or m.op(…), a list of parts, or None for absence, not {kind}")


def _check(kind: type[SchemaOp], operands: int, more: bool, arguments: Mapping[str, Any]) -> None:
    """Finds a graph that no operation can match. Raises ValueError."""
    schema = kind.schema
    if operands > len(schema.operands) or (operands < len(schema.operands) and not more):
        names = ", ".join(argument.name for argument in schema.operands)
        raise ValueError(f"{kind.name} has the operands {names}; the graph gives it {operands}")
    for name in arguments:
        if name not in schema.attributes:
            raise ValueError(f"{kind.name} has no attribute {name!r}; it has {', '.join(schema.attributes) or 'none'}")


def value(element: Attribute | None = None) -> Value:
    """Returns any value, or any tensor of an element type. `found[part]` is the `SSAValue`.

    Example:
        from xdsl.dialects.builtin import f16

        assert m.op("aten.mul.Scalar", m.value(f16), other=m.attribute()).match(product) is None  # it is f32
    """
    return Value() if element is None else Value().where(lambda found: element_of(found) == element)


def attribute() -> Literal:
    """Returns any value of an argument that is not a tensor.

    `found[part]` is, for an operator of `aten`, `core` or `edge`, a Python value: a number, a truth value, a string, a tuple for a list, a
    type for a dtype; the schema's default, or None, where the text says nothing. For other operations it is the attribute, or None.

    Example:
        exponent = m.attribute()
        assert m.op("aten.mul.Scalar", m.value(), other=exponent).match(product)[exponent] == 0.5
    """
    return Literal()


def constant(constants: ModuleConstants) -> Constant:
    """Returns a value whose elements are known: weights, and what was folded. `found[part]` is a numpy array, which cannot be written to.

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
    """Returns one of several parts: the first that leads to a match of the whole. None stands for absence.

    Example:
        negated = m.op("aten.neg", y)
        graph = m.op("aten.add.Tensor", x, m.either(negated, y)).commutative()
        assert negated not in graph.match(total)  # asks which of them it was
    """
    for part in parts:
        _check_argument(part)
    return _Either(parts)


def optional(part: Argument) -> Part[Any]:
    """Returns a part that may be absent, as an optional operand. `found[part]` of `part = m.optional(…)` is the value, or None.

    Example:
        upper = m.optional(m.value())
        graph = m.op("aten.clamp.Tensor", m.value(), m.value(), upper)
        assert graph.match(op("aten.clamp.Tensor")(total, total, None))[upper] is None
        assert graph.match(op("aten.clamp.Tensor")(total, total, total))[upper] is total.result
    """
    return either(part, None)


def all_of(*parts: Part[Any]) -> Part[Any]:
    """Returns all of several parts at once, each matched in its own way.

    Example:
        result = m.value()  # both the value and the operation that makes it are wanted
        graph = m.op("aten.add.Tensor", m.all_of(result, scaled), x)
        assert graph.match(total)[result] is graph.match(total)[scaled].result
    """
    return _All(parts)
