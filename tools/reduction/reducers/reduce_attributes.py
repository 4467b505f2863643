"""Reducers of attributes: removal, or simpler values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, cast

from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, DictionaryAttr, FloatAttr, IntegerAttr, IntegerType, ModuleOp, StringAttr
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, OptPropertyDef

from flambeau.dialects.flambeau.method_interface import INPUTS, OUTPUTS
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.syntax import normalized_attribute
from flambeau.tools.reduction.reducer import Reducer
from flambeau.tools.reduction.retype import infer_again

_STRUCTURE = {"operandSegmentSizes", "resultSegmentSizes", "absentElements", "sym_name", "sym_visibility", "function_type", "op_name__"}
"""Attributes that are derived from other parts of the operation."""

_LISTS = {INPUTS, OUTPUTS}
"""Lists that go as a whole, or follow the signature of their function."""

Simpler: TypeAlias = Callable[[Attribute], Attribute | None]
"""The simpler value of an attribute, or None where it has none of the kind."""

Place: TypeAlias = tuple[Operation, str]


def _entries(module: ModuleOp) -> list[tuple[Operation, str, Attribute]]:
    return [
        (op, key, value)
        for op in module.walk()
        for held in (op.properties, op.attributes)
        for key, value in held.items()
        if key not in _STRUCTURE
    ]


class AttributesReducer(Reducer[Place]):
    """A reducer that removes attributes; verification rejects the removal of required ones."""

    name = "attributes"

    def targets(self, module: ModuleOp) -> Sequence[Place]:
        """Returns every attribute that is not required by definition."""
        found: list[Place] = []
        for op, key, _ in _entries(module):
            if key in op.attributes or not _is_required(op, key):
                found.append((op, key))
        return found

    def apply(self, module: ModuleOp, targets: Sequence[Place]) -> None:
        """Removes the attributes, and infers types again."""
        for op, key in targets:
            (op.attributes if key in op.attributes else op.properties).pop(key, None)
        infer_again(module)


def _is_required(op: Operation, key: str) -> bool:
    if isinstance(op, SchemaOp):
        argument = op.schema.attributes.get(key)
        return argument is not None and not argument.may_be_absent
    return isinstance(op, IRDLOperation) and not isinstance(type(op).get_irdl_definition().properties.get(key), OptPropertyDef)


class ValuesReducer(Reducer[Place]):
    """A reducer that gives attributes simpler values."""

    name = "values"

    def __init__(self, simpler: Simpler):
        self._simpler = simpler

    def targets(self, module: ModuleOp) -> Sequence[Place]:
        """Returns every attribute that the reducer can give a simpler value."""
        return [(op, key) for op, key, value in _entries(module) if key not in _LISTS and self._simpler(value) is not None]

    def apply(self, module: ModuleOp, targets: Sequence[Place]) -> None:
        """Simplifies the values, and infers types again."""
        for op, key in targets:
            held = op.attributes if key in op.attributes else op.properties
            value = self._simpler(held[key])
            if value is not None and isinstance(op, SchemaOp) and key in op.schema.attributes:
                value = normalized_attribute(op.schema.attributes[key], value)
            if value is None:
                del held[key]
            else:
                held[key] = value
        infer_again(module)


def _plain_integer(attribute: Attribute) -> int | None:
    if not isinstance(attribute, IntegerAttr) or cast("IntegerAttr[Any]", attribute).type == IntegerType(1):
        return None
    return cast("IntegerAttr[Any]", attribute).value.data


def number(target: int) -> Simpler:
    """Replaces numbers, also those in a list, by 0 or 1."""

    def simpler(attribute: Attribute) -> Attribute | None:
        match attribute:
            case IntegerAttr() if (value := _plain_integer(attribute)) is not None and value not in (0, target):
                return IntegerAttr(target, cast("IntegerAttr[Any]", attribute).type)
            case FloatAttr() if cast("FloatAttr[Any]", attribute).value.data not in (0.0, float(target)):
                return FloatAttr(float(target), cast("FloatAttr[Any]", attribute).type)
            case DenseArrayBase():
                array = cast("DenseArrayBase[Any]", attribute)
                values = tuple(array.get_values())
                fewer = [value if value in (0, target) else type(value)(target) for value in values]
                return DenseArrayBase.from_list(array.elt_type, fewer) if list(values) != fewer else None
            case _:
                return None

    return simpler


def halved(attribute: Attribute) -> Attribute | None:
    """Halves whole numbers."""
    value = _plain_integer(attribute)
    if value is None or abs(value) <= 2:
        return None
    return IntegerAttr(int(value / 2), cast("IntegerAttr[Any]", attribute).type)


def rounded(attribute: Attribute) -> Attribute | None:
    """Rounds numbers to whole ones."""
    if not isinstance(attribute, FloatAttr):
        return None
    value: float = cast("FloatAttr[Any]", attribute).value.data
    if value != value or abs(value) in (0.0, 1.0, float("inf")) or value == round(value):
        return None
    return FloatAttr(float(round(value)), cast("FloatAttr[Any]", attribute).type)


def shorter(attribute: Attribute) -> Attribute | None:
    """Removes the last item of lists and the last entry of dictionaries, and empties texts."""
    match attribute:
        case DenseArrayBase():
            array = cast("DenseArrayBase[Any]", attribute)
            values = list(array.get_values())
            return DenseArrayBase.from_list(array.elt_type, values[:-1]) if values else None
        case ArrayAttr():
            items = attribute.data
            return ArrayAttr(items[:-1]) if items else None
        case DictionaryAttr():
            entries = list(attribute.data.items())
            return DictionaryAttr(dict(entries[:-1])) if entries else None
        case StringAttr():
            return StringAttr("") if attribute.data else None
        case _:
            return None


SIMPLER: tuple[Simpler, ...] = (number(0), number(1), halved, rounded, shorter)
