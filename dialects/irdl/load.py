"""Makes xDSL dialects from IRDL, to try a dialect without writing Python: `flambeau-opt --irdl-file=cmath.mlir`.

Their operations have only the generic form, and have attributes instead of properties, as in `mlir-opt --irdl-file`.
"""

from __future__ import annotations

import inspect
import keyword
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar

from xdsl.context import Context
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, SSAValue, TypeAttribute
from xdsl.irdl import (
    AttributeDef,
    AttrSizedOperandSegments,
    AttrSizedResultSegments,
    IRDLOperation,
    OpDef,
    OperandDef,
    OptAttributeDef,
    OptOperandDef,
    OptResultDef,
    ParamAttrDef,
    ParamDef,
    RegionDef,
    ResultDef,
    VarOperandDef,
    VarResultDef,
    VerificationContext,
    get_accessors_from_op_def,
)
from xdsl.parser import AttrParser, Parser
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.diagnostics import Diagnostic, emit
from flambeau.dialects.irdl.attributes import Variadicity
from flambeau.dialects.irdl.constraints import AllOfOp, AnyOfOp, BaseOp, CPredOp, IsOp, ParametricOp, RegionOp
from flambeau.dialects.irdl.definitions import (
    AttributesOp,
    DialectOp,
    Handle,
    List,
    Member,
    OperandsOp,
    OperationOp,
    ParametrizedMember,
    RegionsOp,
    ResultsOp,
    TypeOp,
    VariadicList,
    find_definition,
)
from flambeau.dialects.irdl.names import MLIR_NAMES
from flambeau.dialects.irdl.rules import (
    AllOfRule,
    AnyOfRule,
    AnyRule,
    AttributeRule,
    BaseRule,
    Entry,
    IsRule,
    OperationRules,
    ParametricRule,
    RegionRules,
    Rule,
    Variable,
    segments_name,
)
from flambeau.dialects.text.module_text import IRError, ParsedModule, parse_module, verify_parsed
from flambeau.support.position import Position
from flambeau.support.suggestions import did_you_mean

_DEEPEST = 50
_LARGEST = 10_000
"""The maximum nesting depth of constraints, and the maximum number of constraints that one consists of."""


@dataclass
class IrdlDialect(Dialect):
    """A dialect that was declared in IRDL, and where."""

    position: Position | None = None


def read_irdl(text: str, context: Context, file: str = "<string>") -> tuple[IrdlDialect, ...]:
    """Returns the dialects that a text in IRDL declares. `irdl.c_pred` is not evaluated; each gives a warning.

    Args:
        text: a module with `irdl.dialect` operations; those of one name, also in nested modules, are parts of one dialect.
        context: the context with the other dialects that it refers to.
        file: the name of the text in errors.

    Raises:
        IRError: names the position.
    """
    parsed = parse_module(text, context, file)
    verify_parsed(parsed)
    return _Reader(parsed, context).dialects()


class ImportedAttribute(ParametrizedAttribute):
    """A type or attribute that was declared in IRDL."""

    SHOWN: ClassVar[str]
    """The name in the text, such as `!cmath.complex`."""
    ENTRIES: ClassVar[tuple[Entry, ...]]

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> Sequence[Attribute]:
        """Parses `<parameter, …>`."""
        found = parser.parse_paramattr_parameters()
        if len(found) != len(cls.ENTRIES):
            names = ", ".join(entry.label for entry in cls.ENTRIES if entry.label is not None)
            listed = f" ({names})" if names else ""
            parser.raise_error(f"the number of parameters of {cls.SHOWN} is {len(cls.ENTRIES)}{listed}, but {len(found)} are given")
        return found

    def _verify(self) -> None:
        context = VerificationContext()
        for index, (entry, parameter) in enumerate(zip(self.ENTRIES, self.parameters, strict=True)):
            try:
                entry.rule.verify(parameter, context)
            except VerifyException as error:
                raise VerifyException(f"{self.SHOWN}: {entry.called('parameter', index)} {error}") from error


class ImportedOp(IRDLOperation):
    """An operation that was declared in IRDL."""

    RULES: ClassVar[OperationRules]

    def __init__(self, **parts: Any):
        super().__init__(**parts)
        self._name_segments()

    @classmethod
    def build(cls, **parts: Any) -> ImportedOp:
        """Creates an operation as xDSL does, with the names of segment sizes that MLIR expects."""
        op = super().build(**parts)
        op._name_segments()
        return op

    def _name_segments(self) -> None:
        """Renames the attributes with segment sizes from xDSL's names to those that MLIR expects here."""
        for theirs, ours in _SEGMENTS.items():
            if (sizes := self.attributes.pop(theirs, None)) is not None:
                self.attributes[ours] = sizes

    def verify_(self) -> None:
        """Checks the rules of the declaration."""
        self.RULES.verify(self)

    @classmethod
    def parse(cls, parser: Parser) -> ImportedOp:
        """Raises ParseError: operations from IRDL have only the generic form."""
        parser.raise_error(f'{cls.name} is declared in IRDL, so it has the generic form only: "{cls.name}"(…) : (…) -> …')


class _OperandSegments(AttrSizedOperandSegments):
    attribute_name = segments_name("operand")


class _ResultSegments(AttrSizedResultSegments):
    attribute_name = segments_name("result")


_SEGMENTS = {
    AttrSizedOperandSegments.attribute_name: _OperandSegments.attribute_name,
    AttrSizedResultSegments.attribute_name: _ResultSegments.attribute_name,
}
_OPERANDS = {Variadicity.SINGLE: OperandDef, Variadicity.OPTIONAL: OptOperandDef, Variadicity.VARIADIC: VarOperandDef}
_RESULTS = {Variadicity.SINGLE: ResultDef, Variadicity.OPTIONAL: OptResultDef, Variadicity.VARIADIC: VarResultDef}


class _Reader:
    """Makes classes from the definitions of a module."""

    def __init__(self, parsed: ParsedModule, context: Context):
        self._parsed = parsed
        self._context = context
        self._kinds: dict[ParametrizedMember, type[ImportedAttribute]] = {}

    def dialects(self) -> tuple[IrdlDialect, ...]:
        """Returns all dialects, in the order of the text."""
        declared: dict[str, list[DialectOp]] = {}
        for op in self._parsed.module.walk():
            if isinstance(op, DialectOp):
                declared.setdefault(op.symbol, []).append(op)
        if not declared:
            raise IRError(f"{self._parsed.file}: this declares no dialect: there is no irdl.dialect in it")
        members = {name: self._members(parts) for name, parts in declared.items()}
        for member in (member for found in members.values() for member in found):
            if isinstance(member, ParametrizedMember):
                self._kinds[member] = self._declare(member)
        for member, kind in self._kinds.items():
            self._define(member, kind)
        return tuple(
            IrdlDialect(
                name,
                [self._operation(member) for member in members[name] if isinstance(member, OperationOp)],
                [self._kinds[member] for member in members[name] if isinstance(member, ParametrizedMember)],
                position=self._parsed.position(parts[0]),
            )
            for name, parts in declared.items()
        )

    def _members(self, parts: Sequence[DialectOp]) -> list[Member]:
        first: dict[tuple[str, str], Member] = {}
        for op in (op for part in parts for op in part.body.block.ops):
            if isinstance(op, Member) and first.setdefault((op.name, op.symbol), op) is not op:
                what = op.name.removeprefix("irdl.")
                note = Diagnostic("note", "it is declared here first", op=first[op.name, op.symbol])
                raise self._fault(op, f"the {what} {op.qualified_name} is declared twice", note)
        return list(first.values())

    def _fault(self, op: Operation, message: str, *notes: Diagnostic) -> IRError:
        return IRError.of([self._parsed.with_positions(Diagnostic("error", message, op=op, notes=notes))], self._parsed.file)

    # Types and attributes

    def _declare(self, member: ParametrizedMember) -> type[ImportedAttribute]:
        """Returns the class without its parameters, which may refer to classes that are declared later."""
        is_type = isinstance(member, TypeOp)
        found = type(
            _class_name(member, "Type" if is_type else "Attr"),
            (ImportedAttribute, TypeAttribute) if is_type else (ImportedAttribute,),
            {
                "name": member.qualified_name,
                "SHOWN": f"{'!' if is_type else '#'}{member.qualified_name}",
                "__doc__": f"Declared in {self._parsed.position(member)}.",
                "__annotations__": {name: Attribute for name in self._parameter_names(member)},
            },
        )
        return dataclass(frozen=True, init=False)(found)

    def _parameter_names(self, member: ParametrizedMember) -> list[str]:
        declared = member.parameters
        return [] if declared is None else list(_python_names("parameter", declared.labels(), ParametrizedAttribute))

    def _define(self, member: ParametrizedMember, kind: type[ImportedAttribute]) -> None:
        rules = self._rules(member)
        entries = () if member.parameters is None else tuple(_entries(member.parameters, rules))
        parameters = zip(self._parameter_names(member), (ParamDef(entry.rule) for entry in entries), strict=True)
        definition = ParamAttrDef(member.qualified_name, list(parameters))
        kind.ENTRIES = entries
        kind.get_irdl_definition = classmethod(lambda cls: definition)  # pyright: ignore[reportAttributeAccessIssue]  as xDSL sets it

    # Constraints

    def _rules(self, member: Member) -> dict[SSAValue, Rule]:
        """Returns the rule of each constraint in a definition."""
        rules: dict[SSAValue, Rule] = {}
        for op in member.body.block.ops:
            if not isinstance(op, Handle) or isinstance(op, RegionOp):
                continue
            rule = Variable(f"{member.name}{len(rules)}", self._rule(op, rules))
            if rule.depth > _DEEPEST or rule.size > _LARGEST:
                raise self._fault(op, f"constraints are nested more than {_DEEPEST} deep here, or are more than {_LARGEST}")
            rules[op.results[0]] = rule
        return rules

    def _rule(self, op: Operation, rules: dict[SSAValue, Rule]) -> Rule:
        parts = tuple(rules[operand] for operand in op.operands)
        match op:
            case IsOp():
                return IsRule(op.expected)
            case AnyOfOp():
                choice = AnyOfRule(parts)
                if not choice.is_decidable():
                    what = "the first choice that fits is taken, so none may be irdl.any, and no two irdl.parametric of one kind"
                    raise self._fault(op, what)
                return choice
            case AllOfOp():
                return AllOfRule(parts)
            case ParametricOp():
                kind = self._kinds[op.base]
                return ParametricRule(kind, kind.SHOWN, parts)
            case BaseOp():
                return self._base(op)
            case CPredOp():
                message = "irdl.c_pred is C++, which is not run here: it accepts everything"
                emit(Diagnostic("warning", message, self._parsed.position(op), op))
            case _:
                pass
        return AnyRule()

    def _base(self, op: BaseOp) -> Rule:
        if op.base_ref is not None:
            definition = find_definition(op, op.base_ref)
            assert definition is not None
            kind = self._kinds[definition]
            return BaseRule(kind, kind.SHOWN)
        assert op.base_name is not None
        name = op.base_name.data
        found = self._named(name)
        if found is None:
            what = "type" if name.startswith("!") else "attribute"
            known = (*(kind.SHOWN for kind in self._kinds.values()), *MLIR_NAMES)
            raise self._fault(op, f"there is no {what} {name}{did_you_mean(name, known)}")
        return BaseRule(found, name)

    def _named(self, name: str) -> type[Attribute] | None:
        own = {kind.SHOWN: kind for kind in self._kinds.values()}
        if name in own or name in MLIR_NAMES or name[1:].startswith("builtin."):
            return own.get(name) or MLIR_NAMES.get(name)
        found = self._context.get_optional_attr(name[1:]) if "." in name else None
        return found if found is not None and issubclass(found, TypeAttribute) == name.startswith("!") else None

    # Operations

    def _operation(self, member: OperationOp) -> type[ImportedOp]:
        rules = self._rules(member)
        operands: Sequence[Entry] = ()
        results: Sequence[Entry] = ()
        attributes: dict[str, AttributeRule] = {}
        regions: Sequence[RegionRules] = ()
        names: dict[str, list[str]] = {"operand": [], "result": [], "region": []}
        for op in member.body.block.ops:
            match op:
                case OperandsOp():
                    operands = tuple(_entries(op, rules))
                    names["operand"] = list(_python_names("operand", op.labels(), ImportedOp))
                case ResultsOp():
                    results = tuple(_entries(op, rules))
                    names["result"] = list(_python_names("result", op.labels(), ImportedOp))
                case AttributesOp():
                    attributes = {name: AttributeRule(rules[value], is_optional) for name, value, is_optional in op.items()}
                case RegionsOp():
                    regions = tuple(_regions(op, rules))
                    names["region"] = list(_python_names("region", op.labels(), ImportedOp))
                case _:
                    pass
        definition = OpDef(
            member.qualified_name,
            operands=[(name, _OPERANDS[entry.variadicity](entry.rule)) for name, entry in zip(names["operand"], operands, strict=True)],
            results=[(name, _RESULTS[entry.variadicity](entry.rule)) for name, entry in zip(names["result"], results, strict=True)],
            attributes={name: (OptAttributeDef if item.is_optional else AttributeDef)(item.rule) for name, item in attributes.items()},
            regions=[(name, RegionDef()) for name in names["region"]],
            options=[
                *([_OperandSegments()] if _has_segments(operands) else []),
                *([_ResultSegments()] if _has_segments(results) else []),
            ],
            accessor_names={name: (name, "attribute") for name in attributes},
        )
        members = {
            name: accessor
            for name, accessor in get_accessors_from_op_def(definition, None).items()
            if name in ("get_irdl_definition", "traits") or name not in _taken(ImportedOp)
        }
        members |= {
            "name": member.qualified_name,
            "RULES": OperationRules(tuple(operands), tuple(results), attributes, tuple(regions)),
            "__doc__": f"Declared in {self._parsed.position(member)}.",
        }
        return type(_class_name(member, "Op"), (ImportedOp,), members)


def _class_name(member: Member, suffix: str) -> str:
    words = "".join(character if character.isalnum() else " " for character in member.symbol).split()
    return "".join(word[:1].upper() + word[1:] for word in words) + suffix


@cache
def _taken(base: type) -> frozenset[str]:
    """Returns the attribute names of a class and its instances."""
    return frozenset([*dir(base), *(name for kind in base.__mro__ for name in inspect.get_annotations(kind))])


def _python_names(what: str, labels: Sequence[str | None], base: type) -> Iterator[str]:
    """Yields Python names for entries whose labels may be missing, or may not be valid in Python."""
    seen: set[str] = set()
    for index, label in enumerate(labels):
        name = f"{what}_{index}" if label is None else re.sub(r"\W", "_", label)
        while name in _taken(base) or name in seen or keyword.iskeyword(name):
            name += "_"
        seen.add(name)
        yield name


def _entries(op: List, rules: dict[SSAValue, Rule]) -> Iterator[Entry]:
    variadicities = op.variadicities() if isinstance(op, VariadicList) else [Variadicity.SINGLE] * len(op.handles)
    for label, handle, variadicity in zip(op.labels(), op.handles, variadicities, strict=True):
        yield Entry(label, rules[handle], variadicity)


def _regions(op: RegionsOp, rules: dict[SSAValue, Rule]) -> Iterator[RegionRules]:
    for label, handle in zip(op.labels(), op.handles, strict=True):
        region = handle.owner
        assert isinstance(region, RegionOp)
        arguments = None if region.constrained is None else tuple(rules[argument] for argument in region.args)
        yield RegionRules(label, arguments, None if region.block_count is None else region.block_count.value.data)


def _has_segments(entries: Sequence[Entry]) -> bool:
    return sum(entry.variadicity is not Variadicity.SINGLE for entry in entries) > 1
