"""Changes the types of values, and whatever depends on them: inferred result types, sizes in attributes, stored weights."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, cast

from xdsl.dialects.builtin import (
    DenseArrayBase,
    FunctionType,
    MemRefType,
    ModuleOp,
    NoneAttr,
    SymbolRefAttr,
    TensorType,
    VectorType,
    i64,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.edge.stored_arrays import logical_array, stored_array
from flambeau.dialects.ir.blobs import BlobAttr, BlobStore
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.ir.tensor_types import Tensor, may_equal, numel, shape_of, tensor
from flambeau.dialects.ml_program import GlobalOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.dialects.schema.syntax import normalized_attribute
from flambeau.tools.reduction.function_signature import returns_of, update_type

Sizes = Mapping[int, int]
"""New extents of dimensions, by the old ones."""


def with_shape(kind: Tensor, shape: Sequence[int]) -> Tensor:
    """Returns a tensor type with another shape, in the same order of dimensions if the rank is the same."""
    encoding = kind.encoding
    if isinstance(encoding, LayoutAttr) and len(encoding.dim_order) != len(shape):
        encoding = NoneAttr()
    return tensor(kind.element_type, shape, encoding)


def resized(kind: Attribute, sizes: Sizes) -> Attribute:
    """Returns a shaped type with each dimension in `sizes` changed; a function type with all its parts changed; other types unchanged."""
    match kind:
        case TensorType():
            return with_shape(kind, [sizes.get(extent, extent) if is_known(extent) else extent for extent in shape_of(kind)])
        case MemRefType():
            shape = [sizes.get(extent, extent) for extent in kind.get_shape()]
            return MemRefType(kind.element_type, shape, kind.layout, kind.memory_space)
        case VectorType():
            return VectorType(kind.element_type, [sizes.get(extent, extent) for extent in kind.get_shape()], kind.scalable_dims)
        case FunctionType():
            return FunctionType.from_lists([resized(part, sizes) for part in kind.inputs], [resized(part, sizes) for part in kind.outputs])
        case _:
            return kind


def shaped_types(module: ModuleOp) -> Iterator[Attribute]:
    """Yields the types of all values and globals."""
    for op in module.walk():
        if isinstance(op, GlobalOp):
            yield op.type
        yield from op.result_types
        for region in op.regions:
            for block in region.blocks:
                yield from block.arg_types


@dataclass
class Retyping:
    """A change of types throughout a module."""

    module: ModuleOp
    blobs: BlobStore
    sizes: Sizes = field(default_factory=dict[int, int])
    """The new extent for each old one, everywhere in the module."""
    values: Mapping[SSAValue, Attribute] = field(default_factory=dict[SSAValue, Attribute])
    """The new types of some block arguments."""
    globals: Mapping[GlobalOp, Tensor] = field(default_factory=dict[GlobalOp, Tensor])
    """The new types of some globals."""

    def run(self) -> None:
        """Changes the module in place. Raises VerifyException if the new types do not fit an operation."""
        kinds: dict[str, Attribute] = {}
        for op in self.module.walk():
            if isinstance(op, GlobalOp):
                self._global(op)
                kinds[op.sym_name.data] = op.type
        for op in self.module.walk():
            for region in op.regions:
                for block in region.blocks:
                    for argument in block.args:
                        _set_type(argument, self.values.get(argument) or resized(argument.type, self.sizes))
            if isinstance(op, SchemaOp) and op.has("infer"):
                infer_results(op, self.sizes)
            elif not isinstance(op, GlobalOp):
                self._other(op, kinds)
        for op in self.module.walk():
            if isinstance(op, FuncOp) and returns_of(op):
                update_type(op)

    def _other(self, op: Operation, kinds: Mapping[str, Attribute]) -> None:
        named = [kinds[name] for name in map(_symbol, op.properties.values()) if name is not None and name in kinds]
        for result in op.results:
            # A load has the type of its global.
            _set_type(result, named[0] if len(named) == len(op.results) == 1 else resized(result.type, self.sizes))
        kind = op.properties.get("function_type")
        if kind is not None and self.sizes:
            op.properties["function_type"] = resized(kind, self.sizes)

    def _global(self, op: GlobalOp) -> None:
        old = op.type
        new = self.globals.get(op) or resized(old, self.sizes)
        if new == old or not isinstance(old, TensorType):
            return
        op.type = cast(Tensor, new)
        if isinstance(op.value, BlobAttr):
            array = logical_array(self.blobs.get(op.value), cast(Tensor, old))
            part = array[tuple(slice(0, extent) for extent in shape_of(new))]
            op.value = self.blobs.add(op.value.key.data, stored_array(part, cast(Tensor, new)).data)


def infer_again(module: ModuleOp) -> None:
    """Infers the result types of operators again, where attributes or operands have changed. Raises VerifyException."""
    Retyping(module, BlobStore()).run()


def _symbol(attribute: Attribute) -> str | None:
    return attribute.string_value() if isinstance(attribute, SymbolRefAttr) else None


def _set_type(value: SSAValue, kind: Attribute) -> None:
    if value.type != kind:
        value._type = kind  # pyright: ignore[reportPrivateUsage]  the uses are unchanged


def infer_results(op: SchemaOp, sizes: Sizes) -> None:
    """Infers and sets the result types of an operator; adapts its attributes if the results do not fit `sizes`. Raises VerifyException."""
    wanted = [resized(kind, sizes) for kind in op.result_types]
    failure: VerifyException | None = None
    fallback: tuple[dict[str, Attribute], list[Tensor]] | None = None
    for adapt in (_unchanged, _substituted, _scaled):
        for properties in adapt(op, sizes):
            try:
                inferred = op.infer_types(op.operands, properties)
            except VerifyException as error:
                failure = failure or error
                continue
            if len(inferred) != len(wanted):
                continue
            if all(_same_shape(a, b) for a, b in zip(inferred, wanted, strict=True)):
                return _set_results(op, properties, inferred)
            fallback = fallback or (properties, inferred)
    if fallback is None:
        raise failure or VerifyException(f"{op.name}: the number of results changed")
    _set_results(op, *fallback)


def _set_results(op: SchemaOp, properties: dict[str, Attribute], inferred: Sequence[Tensor]) -> None:
    op.properties = properties
    for result, kind in zip(op.results, inferred, strict=True):
        declared = cast(Tensor, result.type)
        if declared.element_type != kind.element_type or not _same_shape(declared, kind):
            _set_type(result, with_shape(tensor(kind.element_type, shape_of(declared), declared.encoding), shape_of(kind)))


def _same_shape(declared: Attribute, inferred: Attribute) -> bool:
    if not isinstance(declared, TensorType) or not isinstance(inferred, TensorType):
        return declared == inferred
    return may_equal(shape_of(cast(Tensor, declared)), shape_of(cast(Tensor, inferred)))


def _unchanged(op: SchemaOp, sizes: Sizes) -> Iterator[dict[str, Attribute]]:
    yield op.properties


def _lists(op: SchemaOp) -> Iterator[tuple[SchemaArgument, tuple[int, ...]]]:
    for name, argument in op.schema.attributes.items():
        found = op.properties.get(name)
        if argument.type.base == "int" and isinstance(found, DenseArrayBase):
            yield argument, tuple(cast("DenseArrayBase[Any]", found).get_values())


def _with(op: SchemaOp, changes: Mapping[SchemaArgument, Sequence[int]]) -> dict[str, Attribute]:
    properties = dict(op.properties)
    for argument, values in changes.items():
        attribute = normalized_attribute(argument, DenseArrayBase.from_list(i64, list(values)))
        properties.pop(argument.name, None)
        if attribute is not None:
            properties[argument.name] = attribute
    return properties


def _substituted(op: SchemaOp, sizes: Sizes) -> Iterator[dict[str, Attribute]]:
    """Yields a list of sizes with each extent replaced."""
    lists = dict(_lists(op))
    if lists and sizes:
        yield _with(op, {argument: [sizes.get(item, item) for item in values] for argument, values in lists.items()})


def _scaled(op: SchemaOp, sizes: Sizes) -> Iterator[dict[str, Attribute]]:
    """Yields one entry of a list of sizes, such as that of a view, chosen so that the numbers of elements agree."""
    if not op.operands or not op.results or not all(isinstance(value.type, TensorType) for value in (op.operands[0], op.results[0])):
        return
    try:
        count = numel(op.operands[0])
    except TypeError:
        return
    for argument, values in _lists(op):
        for index in range(len(values)):
            rest = prod(values[:index]) * prod(values[index + 1 :])
            if rest > 0 and count % rest == 0:
                yield _with(op, {argument: (*values[:index], count // rest, *values[index + 1 :])})


Step = Callable[[int], int]
"""From an extent to a smaller one; the same extent where there is none."""
