"""Structural comparison of two operations and their regions, which ignores the names of values: the first difference."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from io import StringIO
from itertools import zip_longest
from typing import cast

from xdsl.dialect_interfaces.op_asm import OpAsmDialectInterface
from xdsl.dialects.builtin import ArrayAttr, Builtin, DenseResourceAttr, DictionaryAttr, FloatData
from xdsl.ir import Attribute, Block, Operation, ParametrizedAttribute, SSAValue
from xdsl.printer import Printer

_WIDTH = 60
"""The length in characters from which a text is cut in messages."""


def first_difference(before: Operation, after: Operation, *, locations: bool = False) -> tuple[Operation, str] | None:
    """Returns the first operation of `before` that differs in `after`, and the difference; None when there is none.

    Names of values are ignored, and so are locations unless `locations` is true. Unlike `Operation.is_structurally_equivalent`, it compares
    result types, and accepts uses in blocks that come before the definition.
    """
    images: dict[SSAValue | Block, SSAValue | Block] = {}
    pairs: list[tuple[Operation, Operation]] = []
    for op, image in zip_longest(before.walk(), after.walk()):
        if op is None or image is None:
            return (before, f"{image.name} is added") if image is not None else (op or before, "it is missing")
        if op.name != image.name:
            return op, f"{image.name} is in its place"
        if _shape(op) != _shape(image):
            return op, f"{op.name} has another number of results, regions, blocks or block arguments"
        images.update(zip(_defined(op), _defined(image), strict=True))
        pairs.append((op, image))
    for op, image in pairs:
        if op is not before and images.get(cast(Block, op.parent)) is not image.parent:
            return op, f"{op.name} is in another block"
        if (difference := _difference(op, image, images)) is not None:
            return op, f"{op.name} has {difference}"
        if locations and not _equal(op.location, image.location):
            return op, f"{op.name} has the location {_text(image.location)}, not {_text(op.location)}"
    return None


def equivalent(one: Operation, other: Operation) -> bool:
    """Returns whether there is no `first_difference`."""
    return first_difference(one, other) is None


def _shape(op: Operation) -> tuple[int, tuple[tuple[int, ...], ...]]:
    return len(op.results), tuple(tuple(len(block.args) for block in region.blocks) for region in op.regions)


def _defined(op: Operation) -> Iterator[SSAValue | Block]:
    yield from op.results
    for region in op.regions:
        for block in region.blocks:
            yield block
            yield from block.args


def _difference(op: Operation, image: Operation, images: Mapping[SSAValue | Block, SSAValue | Block]) -> str | None:
    if [images.get(value, value) for value in op.operands] != list(image.operands):
        return "other operands"
    if [images.get(block, block) for block in op.successors] != list(image.successors):
        return "other successors"
    for kind, now in zip(_defined(op), _defined(image), strict=True):
        if isinstance(kind, SSAValue) and isinstance(now, SSAValue) and kind.type != now.type:
            return f"a value of type {now.type}, not {kind.type}"
    for ours, theirs in ((op.properties, image.properties), (op.attributes, image.attributes)):
        for name in ours | theirs:
            attribute, found = ours.get(name), theirs.get(name)
            if attribute is None or found is None or not _equal(attribute, found):
                return f"{name} = {_text(found)}, not {_text(attribute)}"
    return None


def _equal(attribute: Attribute, other: Attribute) -> bool:
    """Returns whether two attributes are equal, where NaN equals NaN, and resources compare by content: each text gives them new names."""
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
    return shortened(stream.getvalue())


def shortened(text: str) -> str:
    """Returns a text for a message, cut if it is longer than 60 characters."""
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"
