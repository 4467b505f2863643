"""Imports one call of a PyTorch operator as an operation, selected and bound by its schema."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, cast

import torch
from xdsl.ir import Operation, OpResult, SSAValue

from flambeau.dialects.ir.tensor_types import (
    ElementType,
    Tensor,
    c64,
    dtype_of,
    element_of,
    is_complex,
    part_of,
    scalar_element,
    shape_of,
    tensor,
    tensor_type,
)
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.operators import find_op, schema_table
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import cached_over_rows, load_rows
from flambeau.dialects.schema.schema import Schema, SchemaArgument, parse_schema
from flambeau.frontends.torch_export.exported_graph import Overload, Step, qualified, schema_of
from flambeau.frontends.torch_export.exported_symbols import Symbols
from flambeau.frontends.torch_export.functionalization import meta_copy, mutated_arguments, run_on_meta
from flambeau.frontends.torch_export.values import MEMORY_FORMATS, element_type, tensor_type_of
from flambeau.support.tables import discover

Insert = Callable[[Operation], None]

NO_ROW = (
    "the operator is unknown: it is not ATen's, and has no row; "
    "--load-plugin loads rows, and docs/tutorials/add_kernel.md shows how to write them"
)


class UnsupportedError(Exception):
    """An error for a construct that cannot be imported; the message is the reason."""


@cached_over_rows
def operator_class(overload: Overload) -> type[SchemaOp] | None:
    """Returns the class of an operator: `aten.*` for ATen, else the row of any dialect whose operators have its namespace."""
    namespace, base = qualified(overload)
    suffix = schema_of(overload).overload_name
    return _class_named(namespace, f"{base}.{suffix}" if suffix else base)


@cached_over_rows
def out_class(overload: Overload) -> type[SchemaOp] | None:
    """Returns the functional class of an out variant, by ATen's rule: `linear` for `linear.out`, `x.y` for `x.y_out`."""
    namespace, base = qualified(overload)
    suffix = schema_of(overload).overload_name.removesuffix("out").removesuffix("_")
    return _class_named(namespace, f"{base}.{suffix}" if suffix else base)


def _class_named(namespace: str, name: str) -> type[SchemaOp] | None:
    if namespace == "aten":
        return find_op(f"aten.{name}")
    found = _row_of(namespace, name)
    return _row_of(namespace, name) if found is None and discover() else found


def _row_of(namespace: str, name: str) -> type[SchemaOp] | None:
    for rows in load_rows().values():
        found = rows.get(name)
        if found is not None and found.schema.namespace == namespace:
            return found
    return None


@cache
def functional_class(overload: Overload) -> type[SchemaOp] | None:
    """Returns the class of an in-place operator's functional sibling: `relu` for `relu_`, `__and__` for `__iand__`, `normal_functional`."""
    base, suffix = qualified(overload)[1], schema_of(overload).overload_name
    kinds = [argument.type.plain for argument in parse_schema(str(schema_of(overload))).arguments]
    name = f"__{base[3:]}" if base.startswith("__i") else base.removesuffix("_")
    siblings = [*overloads(name), *overloads(f"{name}_functional")]
    fitting = [schema for schema in siblings if [argument.type.plain for argument in schema.arguments] == kinds]
    # Most siblings have the same overload name; `transpose_` is the sibling of `transpose.int`.
    fitting.sort(key=lambda schema: schema.overload != suffix)
    return find_op(f"aten.{fitting[0].name}") if fitting else None


def class_of(overload: Overload) -> type[SchemaOp] | None:
    """Returns the class of an operator, or of its functional sibling if it writes."""
    return functional_class(overload) if mutated_arguments(overload) and overload.namespace == "aten" else operator_class(overload)


def functional_overload(cls: type[SchemaOp]) -> Overload:
    """Returns the PyTorch operator of a class."""
    packet = getattr(getattr(torch.ops, cls.schema.namespace), cls.schema.base)
    return getattr(packet, cls.schema.overload or "default")


@cache
def overloads(base: str) -> tuple[Schema, ...]:
    """Returns the schemas of an operator of ATen, by its base name."""
    return tuple(parse_schema(line) for line in schema_table().get(base, ()))


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def scalar_sibling(cls: type[SchemaOp], numbers: frozenset[str]) -> type[SchemaOp] | None:
    """Returns the overload with the same arguments, except that `numbers` are Scalars: `add.Scalar` for `add.Tensor`."""
    wanted = {
        argument.name: replace(argument.type.plain, base="Scalar" if argument.name in numbers else argument.type.base)
        for argument in cls.schema.arguments
    }
    for schema in overloads(cls.schema.base):
        if {argument.name: argument.type.plain for argument in schema.arguments} == wanted:
            return find_op(f"aten.{schema.name}")
    return None


def build(cls: type[SchemaOp], given: Mapping[str, Any], result_types: Sequence[Tensor], insert: Insert) -> SchemaOp:
    """Returns the operation of class `cls` for arguments by schema name: SSA values, numbers, dtypes and so on.

    A number for a tensor argument selects the operator's Scalar overload, or becomes a 0-d `aten.full`, which is passed to `insert`.

    Raises:
        UnsupportedError: an argument has no form in the IR.
    """
    numbers = frozenset(argument.name for argument in cls.schema.operands if _is_number(given.get(argument.name)))
    sibling = scalar_sibling(cls, numbers) if numbers else None
    if sibling is not None:
        cls = sibling
    values: list[Any] = []
    for argument in cls.schema.arguments:
        value = given.get(argument.name)
        if argument.type.is_tensor:
            values.append(_operand(value, result_types, given.values(), insert))
        elif argument.name in cls.schema.backend_flags:
            values.append(argument.default if argument.has_default else False)
        else:
            values.append(_attribute(argument, value))
    return cls(*values, result_types=result_types)


def _operand(value: Any, result_types: Sequence[Tensor], given: Iterable[Any], insert: Insert) -> Any:
    if _is_number(value):
        full = _full(value, _number_element(value, result_types, given))
        insert(full.op)
        return full
    if isinstance(value, complex):
        return _complex_number(value, result_types, insert)
    if isinstance(value, tuple | list):
        return [_operand(item, result_types, given, insert) for item in cast("Sequence[Any]", value)]
    if value is None or isinstance(value, SSAValue):
        return cast("SSAValue | None", value)
    raise UnsupportedError(f"{value!r} cannot be used as a tensor")


def _complex_number(value: complex, result_types: Sequence[Tensor], insert: Insert) -> SSAValue:
    """Returns a complex number as a 0-d tensor, of the result's type if that is complex."""
    element = next((element_of(kind) for kind in result_types if is_complex(element_of(kind))), c64)
    parts = [_full(number, part_of(element)) for number in (value.real, value.imag)]
    whole = aten.complex(*parts)
    for result in (*parts, whole):
        insert(result.op)
    return whole


def _number_element(value: bool | int | float, result_types: Sequence[Tensor], given: Iterable[Any]) -> ElementType:
    """Returns the element type for a number operand: that of a tensor or result of its category, as in type promotion, else its own."""
    natural = scalar_element(value)
    beside = [*result_types, *(tensor_type(cast(SSAValue, item)) for item in given if isinstance(item, SSAValue))]
    wide = [element_of(kind) for kind in beside if dtype_of(element_of(kind)).category >= dtype_of(natural).category]
    return next((element for element in wide if dtype_of(element).category == dtype_of(natural).category), natural)


def _full(value: bool | int | float, element: ElementType) -> OpResult:
    return aten.full((), value, element, result_types=[tensor(element, ())])


def _attribute(argument: SchemaArgument, value: Any) -> Any:
    """Returns the value of a non-tensor argument in the form that the constructor takes."""
    if argument.type.base == "Device":
        # Programs have a single memory, so the devices of PyTorch are ignored.
        return None if argument.may_be_absent else "cpu"
    if value is None or argument.name == "pin_memory":
        return None
    if isinstance(value, torch.dtype):
        try:
            return element_type(value)
        except TypeError as error:
            raise UnsupportedError(str(error)) from None
    if isinstance(value, torch.memory_format):
        return MEMORY_FORMATS[value]
    if isinstance(value, torch.layout):
        if value is not torch.strided:
            raise UnsupportedError(f"{value} tensors are not supported: use dense ones")
        return None
    if isinstance(value, tuple | list):
        return tuple(_attribute(argument, item) for item in cast("Sequence[Any]", value))
    if isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, SSAValue):
        raise UnsupportedError(f"argument {argument.name!r} is a tensor's value, which is known only when the program runs")
    if isinstance(value, torch.SymInt | torch.SymFloat | torch.SymBool):
        raise UnsupportedError(f"argument {argument.name!r} is computed from sizes in a way that has no form in the IR")
    raise UnsupportedError(f"argument {argument.name!r} is {type(value).__name__}, which has no form in the IR")


def functional_type(step: Step, op: SchemaOp) -> Tensor:
    """Returns the result type of the functional sibling, which promotes types; the in-place operator keeps its operand's."""
    cls, kept = type(op), tensor_type(op.result)
    if cls.has("infer"):
        return cls.infer_types(op.operands, op.properties)[0]
    arguments = schema_of(step.overload).arguments if step.overload is not None else ()
    given = {item.name: meta_copy(value) for item, value in zip(arguments, step.args, strict=False)}
    given.update((name, meta_copy(value)) for name, value in step.kwargs.items())
    result = run_on_meta(functional_overload(cls), (), given)
    return tensor(element_type(result.dtype), shape_of(kept)) if isinstance(result, torch.Tensor) else kept


def collect_types(value: Any, types: list[Tensor], symbols: Symbols) -> Any:
    """Appends the types of a result to `types` and returns its nesting: None for a tensor, lists for tuples."""
    if isinstance(value, torch.Tensor):
        types.append(tensor_type_of(value, symbols))
        return None
    if isinstance(value, tuple | list):
        return [collect_types(item, types, symbols) for item in cast("Sequence[Any]", value)]
    if value is None:
        raise UnsupportedError("one of its results is None")
    raise UnsupportedError("it gives a number that depends on data; keep it a tensor")


def restore(nesting: Any, results: list[SSAValue]) -> Any:
    """Returns results in the nesting of `collect_types`, and removes them from the list."""
    return results.pop(0) if nesting is None else [restore(item, results) for item in nesting]
