"""The rules for types, attributes and operations from IRDL, and their verification: with MLIR's semantics and Flambeau's messages.

Each constraint of a definition is a variable. The first type or attribute that satisfies it becomes its value, also inside `irdl.any_of`;
later ones must be equal. As in MLIR, attributes are checked first, then operands, results and regions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, ParametrizedAttribute, Region
from xdsl.irdl import AttrConstraint, VerificationContext
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.irdl.attributes import Variadicity
from flambeau.support.suggestions import nearest

_LONGEST = 80
"""The length in characters from which an attribute is cut in messages."""


def _shown(attribute: Attribute) -> str:
    text = str(attribute)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


@dataclass(frozen=True)
class Rule(AttrConstraint[Attribute], ABC):
    """A constraint that can describe itself in messages."""

    @abstractmethod
    def words(self, context: VerificationContext) -> str:
        """Returns the description for messages: `f32 or f64`."""

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rules that this one consists of."""
        return ()

    @property
    def kinds(self) -> frozenset[type[Attribute]] | None:
        """The classes whose parameters it constrains; None when it accepts everything."""
        return frozenset()

    @cached_property
    def size(self) -> int:
        """The number of rules in it, with repetitions."""
        return 1 + sum(part.size for part in self.parts)

    @cached_property
    def depth(self) -> int:
        """The nesting depth of its rules."""
        return 1 + max((part.depth for part in self.parts), default=0)

    def refuse(self, attribute: Attribute, context: VerificationContext) -> None:
        """Raises the VerifyException for an attribute that does not satisfy the rule."""
        raise VerifyException(f"must be {self.words(context)}, got {_shown(attribute)}")

    def mapping_type_vars(self, type_var_mapping: Mapping[Any, Any]) -> Rule:
        """Returns the rule itself, which has no type variables."""
        return self


@dataclass(frozen=True)
class Variable(Rule):
    """A constraint with a name, whose uses all mean one type or attribute."""

    name: str
    rule: Rule

    @cached_property
    def size(self) -> int:
        """The value of the constraint."""
        return self.rule.size

    @cached_property
    def depth(self) -> int:
        """The value of the constraint."""
        return self.rule.depth

    @property
    def kinds(self) -> frozenset[type[Attribute]] | None:
        """The value of the constraint."""
        return self.rule.kinds

    def words(self, context: VerificationContext) -> str:
        """Returns its value if known, else the constraint."""
        known = context.get_variable(self.name)
        return self.rule.words(context) if known is None else _shown(known)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Checks that the attribute is the variable's value, or sets the value. Raises VerifyException."""
        known = constraint_context.get_variable(self.name)
        if known is None or isinstance(self.rule, IsRule):
            self.rule.verify(attr, constraint_context)
            constraint_context.set_attr_variable(self.name, attr)
        elif known != attr:
            raise VerifyException(f"must be {_shown(known)} as elsewhere, got {_shown(attr)}")


@dataclass(frozen=True)
class AnyRule(Rule):
    """Accepts everything."""

    @property
    def kinds(self) -> frozenset[type[Attribute]] | None:
        """Everything."""
        return None

    def words(self, context: VerificationContext) -> str:
        """Returns the description for messages."""
        return "anything"

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Accepts everything."""


@dataclass(frozen=True)
class IsRule(Rule):
    """One type or attribute."""

    expected: Attribute

    def words(self, context: VerificationContext) -> str:
        """Returns the description for messages."""
        return _shown(self.expected)

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Checks that it is equal to the expected one. Raises VerifyException."""
        if attr != self.expected:
            self.refuse(attr, constraint_context)


@dataclass(frozen=True)
class BaseRule(Rule):
    """Any type or attribute of a class."""

    kind: type[Attribute]
    name: str

    def words(self, context: VerificationContext) -> str:
        """Returns the description for messages."""
        return f"any {self.name}"

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Checks the class. Raises VerifyException."""
        if not isinstance(attr, self.kind):
            self.refuse(attr, constraint_context)


@dataclass(frozen=True)
class ParametricRule(BaseRule):
    """A type or attribute of a class, with rules for its parameters."""

    parameters: tuple[Rule, ...]

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rules of the parameters."""
        return self.parameters

    @property
    def kinds(self) -> frozenset[type[Attribute]] | None:
        """The class."""
        return frozenset([self.kind])

    def words(self, context: VerificationContext) -> str:
        """Returns the description for messages."""
        parameters = ", ".join(rule.words(context) for rule in self.parameters)
        return f"{self.name}<{parameters}>" if parameters else self.name

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Checks the class and the parameters. Raises VerifyException."""
        if not isinstance(attr, self.kind):
            self.refuse(attr, constraint_context)
        for rule, parameter in zip(self.parameters, cast(ParametrizedAttribute, attr).parameters, strict=True):
            try:
                rule.verify(parameter, constraint_context)
            except VerifyException:
                self.refuse(attr, constraint_context)


@dataclass(frozen=True)
class AnyOfRule(Rule):
    """A type or attribute that satisfies one of several rules."""

    choices: tuple[Rule, ...]

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The choices."""
        return self.choices

    @property
    def kinds(self) -> frozenset[type[Attribute]] | None:
        """The classes of all choices."""
        found: frozenset[type[Attribute]] = frozenset()
        for rule in self.choices:
            if (more := rule.kinds) is None:
                return None
            found |= more
        return found

    def is_decidable(self) -> bool:
        """Returns whether the first choice that fits is right: none accepts everything, no two constrain parameters of one class."""
        seen: set[type[Attribute]] = set()
        for rule in self.choices:
            kinds = rule.kinds
            if kinds is None or not seen.isdisjoint(kinds):
                return False
            seen |= kinds
        return True

    def words(self, context: VerificationContext) -> str:
        """Returns the description for messages."""
        texts = list(dict.fromkeys(rule.words(context) for rule in self.choices))
        return " or ".join(part for part in (", ".join(texts[:-1]), *texts[-1:]) if part) or "nothing at all"

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Checks that it satisfies one of the choices. Raises VerifyException."""
        for rule in self.choices:
            try:
                rule.verify(attr, constraint_context)
            except VerifyException:
                continue
            return
        self.refuse(attr, constraint_context)


@dataclass(frozen=True)
class AllOfRule(Rule):
    """A type or attribute that satisfies all of several rules."""

    together: tuple[Rule, ...]

    @property
    def parts(self) -> tuple[Rule, ...]:
        """The rules."""
        return self.together

    @property
    def kinds(self) -> frozenset[type[Attribute]] | None:
        """The classes of the first rule, as in MLIR."""
        return self.together[0].kinds if self.together else None

    def words(self, context: VerificationContext) -> str:
        """Returns the description for messages."""
        texts = dict.fromkeys(rule.words(context) for rule in self.together)
        return " and ".join(f"({text})" if " or " in text else text for text in texts) or "anything"

    def verify(self, attr: Attribute, constraint_context: VerificationContext) -> None:
        """Checks that it satisfies all rules. Raises VerifyException."""
        for rule in self.together:
            rule.verify(attr, constraint_context)


@dataclass(frozen=True)
class Entry:
    """An operand, a result or a parameter, or a group of them."""

    label: str | None
    """The name of the entry; None without a name."""
    rule: Rule
    variadicity: Variadicity = Variadicity.SINGLE

    def called(self, what: str, index: int) -> str:
        """Returns `operand 0 ('lhs')`."""
        return f"{what} {index}" if self.label is None else f"{what} {index} ({self.label!r})"


@dataclass(frozen=True)
class AttributeRule:
    """The rule for an attribute of an operation."""

    rule: Rule
    is_optional: bool = False


@dataclass(frozen=True)
class RegionRules:
    """The rules for a region of an operation."""

    label: str | None
    arguments: tuple[Rule, ...] | None
    """The rules of the first block's arguments; None when any are allowed."""
    blocks: int | None
    """The number of blocks; None when any is allowed."""

    def verify(self, op: Operation, region: Region, index: int, context: VerificationContext) -> None:
        """Checks a region. Raises VerifyException."""
        name = f"region {index}" if self.label is None else f"region {index} ({self.label!r})"
        if self.blocks is not None and len(region.blocks) != self.blocks:
            raise VerifyException(f"{op.name}: {name} must have {_count(self.blocks, 'block')}, got {len(region.blocks)}")
        if self.arguments is None:
            return
        first = region.first_block
        types: Sequence[Attribute] = () if first is None else first.arg_types
        if len(types) != len(self.arguments):
            raise VerifyException(
                f"{op.name}: the first block of {name} must have {_count(len(self.arguments), 'argument')}, got {len(types)}"
            )
        for number, (rule, kind) in enumerate(zip(self.arguments, types, strict=True)):
            _check(rule, kind, f"{op.name}: {name}: argument {number}", context)


Values: TypeAlias = Literal["operand", "result"]


@dataclass(frozen=True)
class OperationRules:
    """The rules for an operation."""

    operands: tuple[Entry, ...]
    results: tuple[Entry, ...]
    attributes: Mapping[str, AttributeRule]
    regions: tuple[RegionRules, ...]

    def verify(self, op: Operation) -> None:
        """Checks an operation. Raises VerifyException."""
        if op.properties:
            name = next(iter(op.properties))
            raise VerifyException(f"{op.name} has attributes, {{…}}, and no properties, <{{{name} = …}}>: it is declared in IRDL")
        operands = list(_groups(op, "operand", self.operands, op.operand_types))
        results = list(_groups(op, "result", self.results, op.result_types))
        context = VerificationContext()
        for name, item in self.attributes.items():
            if item.is_optional and name not in op.attributes:
                continue
            if name not in op.attributes:
                other = nearest(name, [key for key in op.attributes if key not in self.attributes])
                raise VerifyException(f"{op.name} needs the attribute {name!r}{f'; it has none called {other!r}' if other else ''}")
            _check(item.rule, op.attributes[name], f"{op.name}: attribute {name!r}", context)
        for what, groups in (("operand", operands), ("result", results)):
            for index, (entry, kind) in enumerate(groups):
                _check(entry.rule, kind, f"{op.name}: {entry.called(what, index)}", context)
        if len(op.regions) != len(self.regions):
            raise VerifyException(f"{op.name} has {_count(len(self.regions), 'region')}, got {len(op.regions)}")
        for index, (region, rules) in enumerate(zip(op.regions, self.regions, strict=True)):
            rules.verify(op, region, index, context)
        if op.successors:
            raise VerifyException(f"{op.name} branches to no blocks: it is declared in IRDL, which has no successors")


def _check(rule: Rule, attribute: Attribute, what: str, context: VerificationContext) -> None:
    try:
        rule.verify(attribute, context)
    except VerifyException as error:
        raise VerifyException(f"{what} {error}") from error


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"


def _groups(op: Operation, what: Values, entries: Sequence[Entry], types: Sequence[Attribute]) -> Iterator[tuple[Entry, Attribute]]:
    """Yields the type of each operand or result with its entry. Raises VerifyException when their number is wrong."""
    kinds = iter(types)
    for entry, size in zip(entries, _sizes(op, what, entries, len(types)), strict=True):
        for _ in range(size):
            yield entry, next(kinds)


def _sizes(op: Operation, what: Values, entries: Sequence[Entry], total: int) -> Sequence[int]:
    """Returns the number of operands or results of each entry."""
    kinds = [entry.variadicity for entry in entries if entry.variadicity is not Variadicity.SINGLE]
    if len(kinds) > 1:
        return _stored_sizes(op, what, entries, total)
    least = len(entries) - len(kinds)
    most = total if Variadicity.VARIADIC in kinds else len(entries)
    if not least <= total <= most:
        if Variadicity.VARIADIC in kinds:
            wanted = f"at least {_count(least, what)}"
        else:
            wanted = _count(most, what) if most == least else f"{least} or {_count(most, what)}"
        names = ", ".join(entry.label for entry in entries if entry.label is not None)
        raise VerifyException(f"{op.name} has {wanted}{f' ({names})' if names else ''}, got {total}")
    return [1 if entry.variadicity is Variadicity.SINGLE else total - least for entry in entries]


def segments_name(what: Values) -> str:
    """Returns the name of the attribute with the sizes of the groups, for operations with several optional or variadic groups."""
    return f"{what}_segment_sizes"


def _stored_sizes(op: Operation, what: Values, entries: Sequence[Entry], total: int) -> Sequence[int]:
    name = segments_name(what)
    stored = op.attributes.get(name)
    if stored is None:
        raise VerifyException(
            f"{op.name} needs the attribute {name!r}: array<i32: …>, the number of {what}s in each of {len(entries)} groups"
        )
    if not isinstance(stored, DenseArrayBase) or cast("DenseArrayBase[Any]", stored).elt_type != i32:
        raise VerifyException(f"{op.name}: attribute {name!r} must be array<i32: …>, got {_shown(cast(Attribute, stored))}")
    sizes = [int(size) for size in cast("DenseArrayBase[Any]", stored).get_values()]
    if len(sizes) != len(entries):
        raise VerifyException(f"{op.name}: attribute {name!r} must have {_count(len(entries), 'number')}, got {len(sizes)}")
    for index, (entry, size) in enumerate(zip(entries, sizes, strict=True)):
        least, most, words = _ALLOWED[entry.variadicity]
        if not least <= size <= most:
            raise VerifyException(f"{op.name}: attribute {name!r}: {entry.called('group', index)} must be {words}, got {size}")
    if sum(sizes) != total:
        raise VerifyException(f"{op.name}: attribute {name!r} counts {_count(sum(sizes), what)}, but there are {total}")
    return sizes


_ALLOWED = {
    Variadicity.SINGLE: (1, 1, "1"),
    Variadicity.OPTIONAL: (0, 1, "0 or 1"),
    Variadicity.VARIADIC: (0, 2**31, "0 or more"),
}
"""The least and the largest number of operands or results of a group, and the text for messages."""
