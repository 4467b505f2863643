"""Whether what is printed parses back to the same IR."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import zip_longest

from xdsl.context import Context
from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import ArrayAttr, Builtin, DenseResourceAttr, DictionaryAttr, FloatData, ModuleOp
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, SSAValue
from xdsl.printer import Printer

from flambeau.dialects.diagnostics import OperationError
from flambeau.dialects.text import IRError, parse_module, print_module
from flambeau.dialects.tracebacks import in_one_line
from flambeau.passes.manager.instrumentation import Instrumentation
from flambeau.passes.manager.pipeline import Pipeline

_WIDTH = 60
"""Longer texts of attributes are cut in messages."""


class RoundTripError(OperationError):
    """A module whose text does not parse back to it; the operation is the first that is lost or comes back as another."""


class RoundTrip(Instrumentation):
    """Checks a module before the first pass, and after the last one if there are any. Raises RoundTripError."""

    def before_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Checks what was read."""
        check_round_trip(module, context)

    def after_pipeline(self, pipeline: Pipeline, module: ModuleOp, context: Context) -> None:
        """Checks what the passes left."""
        if pipeline.elements:
            check_round_trip(module, context)


def check_round_trip(module: ModuleOp, context: Context) -> None:
    """Prints a module in its own syntax and in the generic form, with locations, and parses both.

    Raises:
        RoundTripError: the first difference.
    """
    for generic in (False, True):
        form = "the generic form" if generic else "the text"
        try:
            text = print_module(module, generic=generic, locations=True)
        except Exception as error:
            raise RoundTripError(module, f"{form} cannot be printed: {in_one_line(error)}") from error
        try:
            again = parse_module(text, context.clone()).module
        except IRError as error:
            diagnostic = error.diagnostic
            lines = text.splitlines()
            line = diagnostic.position.line - 1 if diagnostic.position else len(lines)
            shown = f", at {_short(lines[line].strip())!r}" if line < len(lines) else ""
            raise RoundTripError(module, f"{form} does not parse back: {diagnostic.message}{shown}") from error
        if (found := first_difference(module, again)) is not None:
            raise RoundTripError(found[0], f"{form} parses back to other IR: {found[1]}")


def first_difference(before: Operation, after: Operation) -> tuple[Operation, str] | None:
    """The first operation of `before` that is another in `after`, and how; None when all are equal, their locations too."""
    images: dict[SSAValue | Block, SSAValue | Block] = {}
    pairs: list[tuple[Operation, Operation]] = []
    for op, image in zip_longest(before.walk(), after.walk()):
        if op is None or image is None:
            return (before, f"{image.name} is there in addition") if image is not None else (op or before, "it is lost")
        if op.name != image.name:
            return op, f"in its place is {image.name}"
        if _shape(op) != _shape(image):
            return op, f"{op.name} has other results, regions, blocks or block arguments"
        images.update(zip(_defined(op), _defined(image), strict=True))
        pairs.append((op, image))
    for op, image in pairs:
        if (difference := _difference(op, image, images)) is not None:
            return op, f"{op.name} has {difference}"
    return None


def _shape(op: Operation) -> tuple[int, tuple[tuple[int, ...], ...]]:
    return len(op.results), tuple(tuple(len(block.args) for block in region.blocks) for region in op.regions)


def _defined(op: Operation) -> Iterator[SSAValue | Block]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield block
            yield from block.args


def _difference(op: Operation, image: Operation, images: Mapping[SSAValue | Block, SSAValue | Block]) -> str | None:
    if [images.get(value) for value in op.operands] != list(image.operands):
        return "other operands"
    if [images.get(block) for block in op.successors] != list(image.successors):
        return "other successors"
    for kind, now in zip(_defined(op), _defined(image), strict=True):
        if isinstance(kind, SSAValue) and isinstance(now, SSAValue) and kind.type != now.type:
            return f"a value of type {now.type}, not {kind.type}"
    for ours, theirs in ((op.properties, image.properties), (op.attributes, image.attributes)):
        for name in ours | theirs:
            attribute, found = ours.get(name), theirs.get(name)
            if attribute is None or found is None or not _equal(attribute, found):
                return f"{name} = {_text(found)}, not {_text(attribute)}"
    return None if _equal(op.location, image.location) else f"the location {_text(image.location)}, not {_text(op.location)}"


def _equal(attribute: Attribute, other: Attribute) -> bool:
    """Whether two attributes say the same: NaN is NaN, and resources are what they hold, for their names are new in each text."""
    if attribute == other:
        return True
    match attribute, other:
        case DenseResourceAttr(), DenseResourceAttr():
            return attribute.type == other.type and _contents(attribute) == _contents(other)
        case FloatData(), FloatData():
            return math.isnan(attribute.data) and math.isnan(other.data)
        case ArrayAttr(), ArrayAttr():
            return len(attribute) == len(other) and all(map(_equal, attribute, other))
        case DictionaryAttr(), DictionaryAttr():
            ours, theirs = attribute.data, other.data
            return ours.keys() == theirs.keys() and all(_equal(ours[name], theirs[name]) for name in ours)
        case ParametrizedAttribute(), ParametrizedAttribute():
            return type(attribute) is type(other) and all(map(_equal, attribute.parameters, other.parameters))
        case _:
            return False


def _contents(attribute: DenseResourceAttr) -> str | None:
    resources = Builtin.get_interface(OpAsmDialectInterface)
    key = attribute.resource_handle.data
    return resources.build_resources([key]).get(key) if resources is not None else None


def _text(attribute: Attribute | None) -> str:
    if attribute is None:
        return "nothing"
    stream = StringIO()
    Printer(stream).print_attribute(attribute)
    return _short(stream.getvalue())


def _short(text: str) -> str:
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
