"""Partitioners: a backend and what its user asks of it, one object from the door to `partition`; as text, `xnnpack{least=3}`.

A partition has as text what its payload depends on: the options of its own, compile specs, from which later passes make it again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import cast, get_origin

from xdsl.dialects.builtin import DictionaryAttr, StringAttr
from xdsl.ir import Attribute, Operation

from flambeau.dialects.delegate.ops import PartitionOp, PayloadOp
from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.contents import specs_of_options
from flambeau.passes.delegation.interface import (
    Backend,
    BackendError,
    BackendOptions,
    backend_names,
    file_backends,
    find_backend,
    find_identifier,
    unknown_identifier,
)
from flambeau.passes.delegation.vetoes import method_of
from flambeau.passes.manager.grammar import Element, parse
from flambeau.passes.manager.pass_options import Option, Value, construct, option_fields, options_text, value_text
from flambeau.passes.manager.registry import PipelineError
from flambeau.support.executorch_names import ExplainsMembers, explains_arguments


@dataclass(frozen=True)
class CompileSpec:
    """An option of a backend, which its compiler finds on the partition, and its runtime with the payload."""

    key: str
    value: bytes | str

    @property
    def text(self) -> str:
        """The value as text. Raises UnicodeDecodeError."""
        return self.value if isinstance(self.value, str) else self.value.decode()


_FORM = "a backend is a name, perhaps with options in braces, as in xnnpack{least=3}"
_REFUSED = "refused"
_GENERAL = frozenset(field.name for field in option_fields(BackendOptions))
"""The options of every backend, which say what it gets; the others go with it."""


@explains_arguments
@dataclass(frozen=True, init=False)
class Partitioner(ExplainsMembers):
    """A backend that takes operators, with its options.

    Attributes:
        backend: the backend.
        options: its options.
        unless: whether an operator stays, which no text can say; None if all may go.
    """

    backend: Backend
    options: BackendOptions
    unless: Callable[[SchemaOp], bool] | None = None

    def __init__(self, backend: str, compile_specs: Sequence[CompileSpec] = (), *, unless: Callable[[SchemaOp], bool] | None = None):
        """Finds a backend.

        Args:
            backend: its name, perhaps with options: `"xnnpack{least=3}"`.
            compile_specs: more of its options.
            unless: whether an operator stays.

        Raises:
            BackendError: there is no such backend.
            OptionError: it has no such option, or not with this value.
        """
        elements = _elements(backend)
        if len(elements) > 1:
            raise BackendError(f"{_FORM}, one at a time, not {backend!r}")
        kind = find_backend(elements[0].name)
        given = [*elements[0].options, *_options(kind, _texts(compile_specs))]
        vars(self).update(backend=kind, options=_constructed(kind, given), unless=unless)

    @staticmethod
    def of_file(suffix: str, chosen: Sequence[str] = ()) -> Partitioner:
        """Returns the backend that makes files of a suffix, with its options for them.

        Args:
            suffix: without the dot.
            chosen: what the user says of backends: nothing, or this one, perhaps with options.

        Raises:
            BackendError: no backend makes such files, or the user names another one.
            OptionError: it has no such option, or not with this value.
        """
        backend = file_backends().get(suffix)
        if backend is None or backend.file is None:
            raise BackendError(f"no backend makes .{suffix} files; there are .{', .'.join(file_backends())}")
        elements = [element for text in chosen for element in _elements(text)]
        if elements and [element.name for element in elements] != [backend.name]:
            named = ", ".join(element.name for element in elements)
            raise BackendError(f"a .{suffix} file is the whole program, made by the backend {backend.name!r}, and not by {named}")
        return _with_options(backend, backend.file.options, [option for element in elements for option in element.options])

    @staticmethod
    def judged(backend: str) -> Partitioner:
        """Returns a backend, perhaps with options, with those of its own with which it is judged. Raises BackendError, OptionError."""
        found = Partitioner(backend)
        return _with_options(found.backend, found.backend.judged, _elements(backend)[0].options)

    @staticmethod
    def of(delegate: PartitionOp | PayloadOp) -> Partitioner:
        """Returns the backend of a delegate, with the options that its compile specs say. Raises BackendError, OptionError."""
        backend = find_identifier(delegate.backend.data)
        if backend is None:
            raise BackendError(unknown_identifier(delegate.backend.data))
        own = specs_of_options(delegate)
        specs: Mapping[str, Attribute] = {} if own is None else own.data
        texts: dict[str, str] = {}
        for key, value in specs.items():
            if not isinstance(value, StringAttr):
                raise BackendError(f"the compile spec {key!r} of a delegate of {backend.name!r} is {value}, and must be a string")
            texts[key] = value.data
        return _made(backend, _constructed(backend, _options(backend, texts)))

    @staticmethod
    def for_partition(partition: PartitionOp, fate: str) -> Partitioner:
        """Returns the backend of a partition that is to be `fate`, such as `lowered`. Raises OperationError where `of` raises."""
        try:
            return Partitioner.of(partition)
        except ValueError as error:
            raise OperationError(partition, f"partition @{partition.sym_name.data} cannot be {fate}: {error}") from error

    def with_options(self, **options: object) -> Partitioner:
        """Returns the same with other options, by the names of their fields."""
        return _made(self.backend, replace(self.options, **options), self.unless)

    def keeping(self, unless: Callable[[SchemaOp], bool] | None) -> Partitioner:
        """Returns the same, but for the operators of which `unless` is true: they stay."""
        return _made(self.backend, self.options, unless)

    @cached_property
    def table(self) -> OperatorTable:
        """What the backend takes with these options."""
        table = self.backend.table
        return table if isinstance(table, OperatorTable) else table(self.options)

    @property
    def compile_specs(self) -> Sequence[CompileSpec]:
        """The options of its own that differ from their defaults."""
        fields = [field for field in option_fields(self.backend.options) if field.name not in _GENERAL]
        given = ((field.name, getattr(self.options, field.field), field.default) for field in fields)
        return tuple(CompileSpec(name, _text(value)) for name, value, default in given if value != default)

    def is_for(self, op: Operation) -> bool:
        """Returns whether it gets operators of the function that an operation is, or is in."""
        return not self.options.methods or method_of(op) in self.options.methods

    def why_not(self, op: Operation) -> str | None:
        """Returns why it leaves an operation alone; None if it takes it."""
        return self.why_kept(op) or self.table.why_not(op)

    def why_kept(self, op: Operation) -> str | None:
        """Returns why it is not to have an operation, whatever its table says; None if it may."""
        if not self.is_for(op):
            return f"backend {self.backend.name!r} is for {', '.join(self.options.methods)} only"
        if self.unless is not None and isinstance(op, SchemaOp) and self.unless(op):
            return "the program that compiles keeps it"
        return self.why_refused(op)

    def why_refused(self, op: Operation) -> str | None:
        """Returns why the backend's compiler refuses an operation with these options, as noted; None if nothing is."""
        refused = op.attributes.get(_REFUSED)
        found = refused.data.get(str(self)) if isinstance(refused, DictionaryAttr) else None
        return f"its compiler refuses it: {found.data}" if isinstance(found, StringAttr) else None

    def note_refusal(self, op: Operation, reason: str) -> None:
        """Notes on an operation why the backend's compiler refuses it with these options."""
        refused = op.attributes.get(_REFUSED)
        known: Mapping[str, Attribute] = refused.data if isinstance(refused, DictionaryAttr) else {}
        op.attributes[_REFUSED] = DictionaryAttr({**known, str(self): StringAttr(reason)})

    def __str__(self) -> str:
        return f"{self.backend.name}{options_text(self.options)}"


def partitioners(*texts: str) -> tuple[Partitioner, ...]:
    """Returns the backends of texts like `xnnpack{least=3},elementwise`. Raises BackendError, PipelineError, OptionError."""
    found: list[Partitioner] = []
    for text in texts:
        starts = [element.offset for element in _elements(text)]
        parts = (text[start:end] for start, end in zip(starts, (*starts[1:], len(text)), strict=True))
        found += [Partitioner(part.strip().removesuffix(",").rstrip()) for part in parts]
    check_distinct(found)
    return tuple(found)


def check_distinct(chosen: Sequence[Partitioner]) -> None:
    """Raises BackendError where a backend is chosen twice for a method: the first one leaves nothing to the second."""
    for index, second in enumerate(chosen):
        for first in chosen[:index]:
            methods, others = first.options.methods, second.options.methods
            if first.backend is second.backend and (not methods or not others or set(methods) & set(others)):
                raise BackendError(f"backend {first.backend.name!r} is chosen twice; once is enough, as it takes all that it can")


def _made(backend: Backend, options: BackendOptions, unless: Callable[[SchemaOp], bool] | None = None) -> Partitioner:
    found = object.__new__(Partitioner)
    vars(found).update(backend=backend, options=options, unless=unless)
    return found


def _with_options(backend: Backend, own: Mapping[str, str], given: Sequence[Option]) -> Partitioner:
    """Returns a backend with the options given, and those of its own that these leave."""
    left = {name: text for name, text in own.items() if name not in [option.key for option in given]}
    return _made(backend, _constructed(backend, [*_options(backend, left), *given]))


def _constructed(backend: Backend, given: Sequence[Option]) -> BackendOptions:
    return construct(backend.options, f"backend {backend.name!r}", given)


def _elements(text: str) -> Sequence[Element]:
    """Returns the backends of a text, one or more. Raises BackendError."""
    try:
        elements = parse(text).elements
    except PipelineError as error:
        why = f": {error}" if "{" in text else ""
        raise BackendError(f"{_FORM}; a comma comes between two, and a space between options, not {text!r}{why}") from error
    found = [element for element in elements if isinstance(element, Element)]
    if not found or len(found) < len(elements):
        raise BackendError(f"{_FORM}, not {text!r}; there are {', '.join(backend_names())}")
    return found


def _texts(specs: Sequence[CompileSpec]) -> Mapping[str, str]:
    """Returns compile specs by key. Raises TypeError, and ValueError for a key that is there twice."""
    found: dict[str, str] = {}
    for spec in cast("Sequence[object]", specs):
        if not isinstance(spec, CompileSpec):
            raise TypeError(f"compile_specs is a list of flambeau.CompileSpec, and holds {spec!r}")
        if spec.key in found:
            raise ValueError(f"compile_specs has {spec.key!r} twice")
        try:
            found[spec.key] = spec.text
        except UnicodeDecodeError as error:
            raise BackendError(f"compile spec {spec.key!r} holds bytes that are no text: {spec.value!r}") from error
    return found


def _options(backend: Backend, texts: Mapping[str, str]) -> Sequence[Option]:
    """Returns options as written; a list has commas."""
    lists = {field.name for field in option_fields(backend.options) if get_origin(field.type) is tuple}
    return [Option(key, tuple(map(Value, text.split(",") if key in lists else [text]))) for key, text in texts.items()]


def _text(value: object) -> str:
    return value if isinstance(value, str) else value_text(value)
