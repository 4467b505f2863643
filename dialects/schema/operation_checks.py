"""Checks an operation against its row: its operands, its attributes, and its result types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import DenseArrayBase, TensorType
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.tensor_types import check_storage, tensor_type
from flambeau.dialects.schema.inferred_types import UndecidedTypesError, fits, refuse_other_sizes
from flambeau.dialects.schema.operation_syntax import ABSENT, SEGMENTS, tensors_text
from flambeau.dialects.schema.syntax import accepts
from flambeau.support.suggestions import did_you_mean, nearest

if TYPE_CHECKING:
    from flambeau.dialects.schema.row import SchemaOp


def check_operation(op: SchemaOp) -> None:
    """Raises VerifyException for operands, attributes or result types that the row does not allow."""
    _check_operands(op)
    _check_attributes(op)
    if op.has("infer"):
        _check_results(op)


def _check_operands(op: SchemaOp) -> None:
    schema = op.schema
    segments = op.properties.get(SEGMENTS)
    counts = cast("DenseArrayBase[Any]", segments).get_values() if isinstance(segments, DenseArrayBase) else (1,) * len(schema.operands)
    if len(counts) != len(schema.operands) or sum(counts) != len(op.operands):
        groups = f" in groups of {list(counts)}" if op.has_segments() else ""
        raise VerifyException(f"{op.name} takes {tensors_text(type(op))}, got {len(op.operands)} operands{groups}")
    for argument, count in zip(schema.operands, counts, strict=True):
        if not argument.type.is_list and count != 1 and not (count == 0 and argument.may_be_absent):
            raise VerifyException(f"{op.name} needs the tensor {argument.name!r}")
    for operand in op.operands:
        if not isinstance(operand.type, TensorType):
            raise VerifyException(f"{op.name}: operand types must be tensors, got {operand.type}")
    for value in (*op.operands, *op.results):
        try:
            check_storage(tensor_type(value))
        except TypeError as error:
            raise VerifyException(f"{op.name}: {error}") from error


def _check_attributes(op: SchemaOp) -> None:
    known = op.schema.attributes
    for name, attribute in op.properties.items():
        if name in (SEGMENTS, ABSENT):
            continue
        argument = known.get(name)
        if argument is None:
            raise VerifyException(f"{op.name} has no attribute {name!r}{did_you_mean(name, known)}")
        if not accepts(attribute, argument.type):
            listed = "[]" if argument.type.is_list else ""
            raise VerifyException(f"{op.name}: attribute {name!r} must be {argument.type.base}{listed}, got {attribute}")
    for name, argument in known.items():
        if name not in op.properties and not argument.may_be_absent:
            unknown = nearest(name, op.attributes)
            raise VerifyException(f"{op.name} needs the attribute {name!r}{f'; it has none called {unknown!r}' if unknown else ''}")
    for name in op.attributes:
        if "." not in name and name not in known and (meant := nearest(name, [key for key in known if key not in op.properties])):
            raise VerifyException(f"{op.name} has no attribute {name!r}; did you mean {meant!r}?")


def _check_results(op: SchemaOp) -> None:
    try:
        inferred = op.infer_types(op.operands, op.properties)
    except UndecidedTypesError:
        return  # the run decides
    declared = op.result_types
    if len(inferred) != len(declared) or not all(fits(d, i) for d, i in zip(declared, inferred, strict=True)):
        raise VerifyException(f"{op.name}: result types must be ({', '.join(map(str, inferred))}), got ({', '.join(map(str, declared))})")
    refuse_other_sizes(op, declared, inferred)
    for value, result in zip(op.written(), op.results[len(op.results) - len(op.written()) :], strict=True):
        if not fits(result.type, value.type):
            raise VerifyException(f"{op.name}: the new value of an argument of type {value.type} is of type {result.type}")
