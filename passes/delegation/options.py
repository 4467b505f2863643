"""The choice of a backend with its options, as text: `xnnpack{least=3}`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypeAlias, get_origin

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute

from flambeau.dialects.delegate.ops import PartitionOp, compile_specs
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.interface import (
    Backend,
    BackendError,
    BackendOptions,
    backend_names,
    find_backend,
    find_identifier,
    unknown_identifier,
)
from flambeau.passes.manager.grammar import Element, parse
from flambeau.passes.manager.pass_options import Option, OptionField, Value, construct, option_fields, value_text
from flambeau.passes.manager.registry import PipelineError


@dataclass(frozen=True)
class Choice:
    """A backend and its options."""

    backend: Backend
    options: BackendOptions

    @cached_property
    def table(self) -> OperatorTable:
        """What the backend takes with these options."""
        table = self.backend.table
        return table if isinstance(table, OperatorTable) else table(self.options)

    def specs(self) -> DictionaryAttr | None:
        """Returns the compile specs of its delegates: the options of its own that differ from their defaults."""
        given = {field: getattr(self.options, field.field) for field in _own_fields(self.backend)}
        texts = {field.name: _text(value) for field, value in given.items() if value != field.default}
        return compile_specs({**texts}) if texts else None


GENERAL = frozenset(field.name for field in option_fields(BackendOptions))
"""The options of every backend, which say what it gets; the others go with it."""
_FORM = "a backend is a name, perhaps with options in braces, as in xnnpack{least=3}"


def find_choice(text: str) -> Choice:
    """Returns the backend of a text like `xnnpack{least=3}`. Raises BackendError, PipelineError, OptionError."""
    match _elements(text):
        case (element,):
            return _choice(element.name, element.options)
        case _:
            raise BackendError(f"{_FORM}, one at a time, not {text!r}")


def split_choices(*texts: str) -> tuple[str, ...]:
    """Returns the texts of the backends in `xnnpack{least=3},elementwise`, each known. Raises BackendError, PipelineError, OptionError."""
    found: list[str] = []
    for text in texts:
        starts = [element.offset for element in _elements(text)]
        parts = (text[start:end] for start, end in zip(starts, (*starts[1:], len(text)), strict=True))
        found += [part.strip().removesuffix(",").rstrip() for part in parts]
    check_distinct([find_choice(part) for part in found])
    return tuple(found)


def check_distinct(choices: Sequence[Choice]) -> None:
    """Raises BackendError where a backend is chosen twice: the first one leaves nothing to the second."""
    names = [choice.backend.name for choice in choices]
    for name in names:
        if names.count(name) > 1:
            raise BackendError(f"backend {name!r} is chosen twice; once is enough, as it takes all that it can")


def with_options(text: str, options: Mapping[str, str]) -> str:
    """Returns the text of a backend, with more options."""
    name, _, given = text.partition("{")
    inside = [*(f"{key}={value}" for key, value in options.items()), given.rpartition("}")[0]]
    return f"{name}{{{' '.join(filter(None, inside))}}}" if options else text


def is_given(text: str, option: str) -> bool:
    """Returns whether the text of a backend has an option."""
    return any(given.key == option for element in _elements(text) for given in element.options)


def _elements(text: str) -> Sequence[Element]:
    """Returns the backends of a text, one or more. Raises BackendError."""
    try:
        elements = parse(text).elements
    except PipelineError as error:
        why = f": {error}" if "{" in text else ""
        raise BackendError(f"{_FORM}, and a comma comes between two, not {text!r}{why}") from error
    found = [element for element in elements if isinstance(element, Element)]
    if not found or len(found) < len(elements):
        raise BackendError(f"{_FORM}, not {text!r}; there are {', '.join(backend_names())}")
    return found


def choice_of(partition: PartitionOp) -> Choice:
    """Returns the backend of a partition, with the options that its compile specs say. Raises BackendError, OptionError."""
    backend = find_identifier(partition.backend.data)
    if backend is None:
        raise BackendError(unknown_identifier(partition.backend.data))
    lists = {field.name for field in _own_fields(backend) if get_origin(field.type) is tuple}
    given: list[Option] = []
    specs: Mapping[str, Attribute] = {} if partition.specs is None else partition.specs.data
    for key, value in specs.items():
        if not isinstance(value, StringAttr):
            raise BackendError(f"the compile spec {key!r} of a delegate of {backend.name!r} is {value}, and must be a string")
        parts = value.data.split(",") if key in lists else [value.data]
        given.append(Option(key, tuple(Value(part) for part in parts)))
    return _choice(backend.name, given)


def _choice(name: str, given: Sequence[Option]) -> Choice:
    backend = find_backend(name)
    return Choice(backend, construct(backend.options, f"backend {name!r}", given))


def _own_fields(backend: Backend) -> list[OptionField]:
    """Returns the options beside those of every backend."""
    return [field for field in option_fields(backend.options) if field.name not in GENERAL]


def _text(value: object) -> str:
    return value if isinstance(value, str) else value_text(value)


BackendName: TypeAlias = Annotated[str, find_choice]
"""An option that names a backend, perhaps with options of its own."""
