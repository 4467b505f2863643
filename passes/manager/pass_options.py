"""Options of passes and pipelines: dataclass fields as text and back, with messages for people.

A field is a `bool`, `int`, `float`, `str`, `Literal[…]`, a tuple of those, or one of several (`int | None`). `Annotated[str, find_target]`
is a `str` that `find_target` knows: functions that stand there are called with the value, and a ValueError of theirs refuses it. In
`Annotated[str, Parsed(Partitioner)]` the function's result is the value, whose `str` is the text again.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from inspect import get_annotations
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin, get_type_hints

from flambeau.support.suggestions import did_you_mean

T = TypeVar("T")
Scalar: TypeAlias = str | int | float | bool

_WORD = r"[A-Za-z_][A-Za-z0-9_./:+-]*"
_NUMBER = r"-?[0-9][0-9.]*"
_SETTING = rf"[A-Za-z_][A-Za-z0-9_-]*(?:=(?:{_WORD}|{_NUMBER})(?:,(?:{_WORD}|{_NUMBER}))*)?"
_PLAIN = re.compile(rf"{_WORD}(?:\{{(?:{_SETTING}(?: {_SETTING})*)?\}})?")
"""Strings that stand in a pipeline without quotes: words, perhaps with options of their own in braces."""
_WORDS = {
    bool: ("true or false", "true or false"),
    int: ("an integer", "integers"),
    float: ("a number", "numbers"),
    str: ("a string", "strings"),
}
_ORDER = (NoneType, bool, int, float)
"""Of the types that an option may have, the first that its text fits is taken; text fits everything."""


@dataclass(frozen=True)
class Parsed:
    """A function that makes the value of an option from its text; it may raise ValueError."""

    function: Callable[[str], object]


@dataclass(frozen=True)
class Value:
    """One value of an option, as written."""

    text: str
    offset: int = 0
    quoted: bool = False


@dataclass(frozen=True)
class Option:
    """One option as written: `key` or `key=value,value`."""

    key: str
    values: tuple[Value, ...] = ()
    offset: int = 0


class OptionError(ValueError):
    """An option that does not exist, or whose value does not fit. One line, for people."""

    def __init__(self, message: str, offset: int | None = None):
        super().__init__(message)
        self.offset = offset


@dataclass(frozen=True)
class OptionField:
    """An option that a class declares."""

    name: str
    """As it is written in a pipeline: with dashes."""
    field: str
    """The name of the dataclass field."""
    type: Any
    default: Any
    """`dataclasses.MISSING` when the option must be given."""

    @property
    def required(self) -> bool:
        """Whether the option must be given."""
        return self.default is dataclasses.MISSING

    def default_text(self) -> str:
        """Returns the default as it would be written."""
        return value_text(self.default) if self.default not in (None, ()) else "none"


class _Mismatch(Exception):
    pass


@cache
def option_fields(kind: type[Any]) -> tuple[OptionField, ...]:
    """Returns the options of a dataclass, in order of declaration. Raises OptionError when a type is unknown in the class's module."""
    try:
        types = get_type_hints(kind, include_extras=True)
    except NameError as error:
        raise OptionError(
            f"the types of the options of {kind.__name__} cannot be read: {error}; import it outside of TYPE_CHECKING"
        ) from error
    fields: list[OptionField] = []
    for field in dataclasses.fields(kind):
        if field.name == "name" or not field.init:
            continue
        default = field.default if field.default_factory is dataclasses.MISSING else field.default_factory()
        if default is dataclasses.MISSING and NoneType in _members(types[field.name]):
            default = None
        fields.append(OptionField(field.name.replace("_", "-"), field.name, types[field.name], default))
    return tuple(fields)


def construct(kind: type[T], what: str, options: Sequence[Option]) -> T:
    """Returns an instance of a dataclass from options as written.

    Args:
        kind: the class.
        what: what to call it in messages: `pass 'cse'`.
        options: what stands in the braces.

    Raises:
        OptionError: an unknown, repeated or missing option, or a value of the wrong type; says which there are.
        ValueError: whatever the class itself refuses.
    """
    fields = {field.field: field for field in option_fields(kind)}
    given: dict[str, Any] = {}
    for option in options:
        field = fields.get(option.key.replace("-", "_"))
        if field is None:
            raise OptionError(f"{what} has no option {option.key!r}; {_known(kind, option.key)}", option.offset)
        if field.field in given:
            raise OptionError(f"option {field.name!r} of {what} is given twice", option.offset)
        given[field.field] = _parse(field, option, what)
    for field in fields.values():
        if field.field not in given and field.required:
            raise OptionError(f"{what} needs its option {field.name!r}: {type_words(field.type)}")
        given.setdefault(field.field, field.default)
    return kind(**given)


def options_text(item: object) -> str:
    """Returns the options of an instance that differ from their defaults, as they stand in a pipeline: `{alignment=64}`, or nothing."""
    parts: list[str] = []
    for field in option_fields(type(item)):
        value = getattr(item, field.field)
        if not field.required and type(value) is type(field.default) and value == field.default:
            continue
        parts.append(field.name if value in (None, ()) else f"{field.name}={value_text(value)}")
    return f"{{{' '.join(parts)}}}" if parts else ""


def type_words(type_: Any, *, many: bool = False) -> str:
    """Returns a type in words: `an integer`, `one of 'a', 'b'`, `a list of integers`."""
    members = [member for member in _members(type_) if member is not NoneType]
    if len(members) > 1:
        return " or ".join(type_words(member, many=many) for member in members)
    only = _unannotated(members[0]) if members else NoneType
    if get_origin(only) is Literal:
        return f"one of {', '.join(value_text(choice) for choice in get_args(only))}"
    if get_origin(only) is tuple:
        items = get_args(only)
        if len(items) == 2 and items[1] is Ellipsis:
            return f"a list of {type_words(items[0], many=True)}"
        return f"a list of {len(items)}: {', '.join(type_words(item) for item in items)}"
    return _WORDS[only][many] if only in _WORDS else str(getattr(only, "__name__", only))


def is_textual(type_: Any) -> bool:
    """Returns whether values of a type can be written in a pipeline."""
    return all(
        _unannotated(member) in _WORDS
        or member is NoneType
        or get_origin(member) is Literal
        or (get_origin(member) is tuple and all(item is Ellipsis or is_textual(item) for item in get_args(member)))
        for member in _members(type_)
    )


def _known(kind: type[Any], name: str) -> str:
    names = [field.name for field in option_fields(kind)]
    # `dataclass` sets `__dataclass_fields__`, so the class's own attribute shows whether the decorator was applied.
    if name.replace("-", "_") in get_annotations(kind) and "__dataclass_fields__" not in vars(kind):
        return f"{kind.__name__} declares it, but is not a dataclass: write @dataclass(frozen=True) above it"
    if not names:
        return "it has none"
    return f"it has {', '.join(names)}{did_you_mean(name.replace('_', '-'), names)}"


def _unannotated(type_: Any) -> Any:
    """Returns the type inside `Annotated`."""
    return get_args(type_)[0] if get_origin(type_) is Annotated else type_


def _members(type_: Any) -> tuple[Any, ...]:
    """Returns the types of a union, the first choice first."""
    if get_origin(type_) not in (Union, UnionType):
        return (type_,)
    parts = [member for part in get_args(type_) for member in _members(part)]
    literal = len(_ORDER)
    rank = {kind: number for number, kind in enumerate(_ORDER)} | {str: literal + 1}
    return tuple(sorted(parts, key=lambda part: rank.get(_unannotated(part), literal if get_origin(part) is Literal else literal + 2)))


def _parse(field: OptionField, option: Option, what: str) -> Any:
    for member in _members(field.type):
        try:
            return _convert(option.values, member)
        except _Mismatch:
            continue
    name = f"option {field.name!r} of {what}"
    if not is_textual(field.type):
        raise OptionError(f"{name} cannot be given as text: it is {type_words(field.type)}", option.offset)
    if not option.values:
        raise OptionError(f"{name} needs a value: {type_words(field.type)}", option.offset)
    got = ",".join(value.text for value in option.values)
    raise OptionError(f"{name} must be {type_words(field.type)}, got {got!r}", option.values[0].offset)


def _convert(values: tuple[Value, ...], type_: Any) -> Any:
    if get_origin(type_) is tuple:
        items = get_args(type_)
        if len(items) == 2 and items[1] is Ellipsis:
            items = (items[0],) * len(values)
        if len(items) != len(values):
            raise _Mismatch
        return tuple(_one_of(value, item) for value, item in zip(values, items, strict=True))
    if not values and type_ is NoneType:
        return None
    if not values and type_ is bool:
        return True
    if len(values) != 1:
        raise _Mismatch
    return _scalar(values[0], type_)


def _one_of(value: Value, type_: Any) -> Any:
    for member in _members(type_):
        try:
            return _scalar(value, member)
        except _Mismatch:
            continue
    raise _Mismatch


def _scalar(value: Value, type_: Any) -> Any:
    if get_origin(type_) is Annotated:
        inner, *notes = get_args(type_)
        found = _scalar(value, inner)
        try:
            for note in notes:
                if isinstance(note, Parsed):
                    return note.function(value.text)
                if callable(note):
                    note(found)
        except ValueError as error:
            raise OptionError(str(error), value.offset) from error
        return found
    if type_ is str:
        return value.text
    if get_origin(type_) is Literal:
        for choice in get_args(type_):
            if value.text == (choice if isinstance(choice, str) else value_text(choice)):
                return choice
        raise _Mismatch
    if value.quoted:
        raise _Mismatch
    try:
        if type_ is bool:
            return {"true": True, "false": False}[value.text]
        if type_ is int:
            return int(value.text)
        if type_ is float:
            return float(value.text)
    except (ValueError, KeyError):
        pass
    raise _Mismatch


def value_text(value: Any) -> str:
    """Returns a value as it stands in a pipeline."""
    if isinstance(value, tuple):
        return ",".join(value_text(item) for item in value)  # pyright: ignore[reportUnknownVariableType]  any tuple
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, int | float):
        value = str(value)
        plain = _PLAIN.fullmatch(value) and value.lower() not in ("true", "false", "inf", "nan", "infinity")
        if plain:
            return value
        import json

        return json.dumps(value, ensure_ascii=False)
    return repr(value)
