"""Writes dialects as IRDL, so that MLIR's tools can check Flambeau's IR: `mlir-opt --irdl-file=aten.irdl.mlir`.

IRDL cannot express optional attributes, relations between types, traits and symbols, so these are omitted. In IRDL, all members of a
variadic group have one type. So a list becomes `IRDL_RUNS` groups, one for each run of values of one type, and operations with several
groups have attributes with the segment sizes. An operation from IRDL cannot be a terminator: `for_irdl` adds `llvm.unreachable` after one.
MLIR 19, later versions and xDSL can all parse the text.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, TypeAlias, cast

from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    ArrayOfConstraint,
    DenseArrayBase,
    IndexType,
    IntegerType,
    StringAttr,
    SymbolNameConstraint,
    TensorType,
    i32,
)
from xdsl.dialects.llvm import UnreachableOp
from xdsl.ir import Attribute, Dialect, Operation, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AnyOf,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    MessageConstraint,
    OperandDef,
    OptionalDef,
    OptPropertyDef,
    ParamAttrConstraint,
    RangeConstraint,
    RangeLengthConstraint,
    RangeOf,
    ResultDef,
    SingleBlockRegionDef,
    VarConstraint,
    VariadicDef,
)
from xdsl.traits import IsTerminator

from flambeau.dialects.ir.diagnostics import OperationError
from flambeau.dialects.irdl.load import ImportedOp, IrdlDialect
from flambeau.dialects.irdl.names import MLIR_NAMES
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.schema.operators import find_op, level_ops, schema_table
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.row_table import dialect_names, load_rows
from flambeau.dialects.schema.schema import SchemaType

_TYPES = "types"
"""The nested module for types and attributes, whose names may be the same as those of operations."""

_BUILTIN: dict[type[Attribute], str] = {
    MLIR_NAMES[name]: name
    for name in (
        *("#builtin.array", "#builtin.dense_array", "#builtin.dictionary", "#builtin.float", "#builtin.integer", "#builtin.string"),
        *("#builtin.symbol_ref", "#builtin.unit", "!builtin.tensor"),
    )
}
"""MLIR's names of xDSL's types and attributes."""

_SCHEMA: dict[str, tuple[str, ...]] = {
    "int": ("#builtin.integer",),
    "float": ("#builtin.float",),
    "Scalar": ("#builtin.integer", "#builtin.float"),
    "str": ("#builtin.string",),
    "ScalarType": ("#builtin.type",),
}
"""MLIR's names of the attributes for arguments of a schema."""


Symbols: TypeAlias = Mapping[type[Attribute], str]
"""The symbols of types and attributes that are exported too."""


class IrdlError(ValueError):
    """A dialect that cannot be exported. The message is one line for users."""


IRDL_RUNS = 32
"""The default maximum number of runs of values of one type in a list of operands or results."""


def irdl_text(names: Sequence[str], runs: int | None = None) -> str:
    """Returns the IRDL of dialects as the text of a module, for lists of up to `runs` runs of values of one type. Raises IrdlError."""
    runs = IRDL_RUNS if runs is None else runs
    dialects = [_dialect(name) for name in dict.fromkeys(names)]
    kinds = {dialect.name: [kind for kind in dialect.attributes if issubclass(kind, ParametrizedAttribute)] for dialect in dialects}
    # MLIR looks for a symbol from the module around the dialect that refers to it.
    inside: dict[type[Attribute], str] = {}
    for name, found in kinds.items():
        inside |= {kind: f"@{name}::@{kind.name.partition('.')[2]}" for kind in found}
    known = {kind: f"@{_TYPES}::{symbol}" for kind, symbol in inside.items()}
    types = [_block(f"irdl.dialect @{name}", [_kind(kind, inside) for kind in found]) for name, found in kinds.items() if found]
    modules = [_block(f"builtin.module @{_TYPES}", types)] if types else []
    for dialect in dialects:
        modules.append(_block(f"irdl.dialect @{dialect.name}", list(_operations(dialect, known, runs))))
    return "\n".join([*_block("builtin.module", modules), ""])


def _dialect(name: str) -> Dialect:
    ours = (*dialect_names(), *load_rows())
    if name in get_all_dialects():
        raise IrdlError(f"{name} is a dialect of MLIR, which checks it already")
    found = FlambeauContext().get_optional_dialect(name)
    if found is None:
        raise IrdlError(f"there is no dialect {name!r}; there are {', '.join(sorted({*ours} - {*get_all_dialects()}))}")
    if isinstance(found, IrdlDialect):
        raise IrdlError(f"{name} is declared in IRDL already: {found.position}")
    return found


def _operations(dialect: Dialect, known: Symbols, runs: int) -> Iterator[list[str]]:
    found = {op.name: op for op in level_ops(dialect.name)}
    if dialect.name == "aten":
        # Overloads without a row print and parse too.
        names = [f"aten.{text[: text.index('(')]}" for texts in schema_table().values() for text in texts]
        found |= {name: op for name in names if (op := find_op(name)) is not None}
    for _, op in sorted(found.items()):
        yield _schema_operation(op, runs)
    for op in dialect.operations:
        if issubclass(op, IRDLOperation):
            yield _operation(op, known, runs)


def _block(head: str, parts: Sequence[Sequence[str]]) -> list[str]:
    lines = [f"  {line}" for part in parts for line in part]
    return [f"{head} {{", *lines, "}"] if lines else [head]


Constraint: TypeAlias = tuple[str, ...]
"""A constraint in IRDL: the operations of its alternatives."""

_ANY: Constraint = ("irdl.any",)


def _base(name: str) -> str:
    return f"irdl.base {json.dumps(name)}"


class _Body:
    """The lines of a definition.

    Each constraint is a variable for one attribute, so each place has its own: attributes that share a constraint would have to be equal.
    """

    def __init__(self, runs: int = IRDL_RUNS) -> None:
        self.lines: list[str] = []
        self._runs = runs
        self._count = 0

    def value(self, text: str) -> str:
        """Returns a new value."""
        name = f"%{self._count}"
        self._count += 1
        self.lines.append(f"{name} = {text}")
        return name

    def any_of(self, constraint: Constraint) -> str:
        """Returns the value of a constraint."""
        values = [self.value(text) for text in constraint]
        return values[0] if len(values) == 1 else self.value(f"irdl.any_of({', '.join(values)})")

    def define(self, what: str, names: Sequence[str], values: Sequence[str], more: str = "", kind: str = "!irdl.attribute") -> None:
        """Operands, results, parameters or regions."""
        if names:
            # In the generic form, because the custom form has names of operands only in xDSL and since MLIR 20.
            types = ", ".join([kind] * len(values))
            self.lines.append(f'"irdl.{what}"({", ".join(values)}) {{{more}names = {json.dumps(list(names))}}} : ({types}) -> ()')

    def groups(
        self, what: str, items: Sequence[tuple[str, OperandDef | ResultDef]], constraint: Callable[[RangeConstraint], Constraint]
    ) -> None:
        """Operands or results."""
        names: list[str] = []
        kinds: list[str] = []
        values: list[str] = []
        for name, item in items:
            members = [f"{name}_{index}" for index in range(self._runs)] if _is_list(item) else [name]
            names += members
            kinds += ["variadic" if _is_list(item) else "optional" if isinstance(item, VariadicDef) else "single"] * len(members)
            values += [self.any_of(constraint(item.constr)) for _ in members]
        self.define(what, names, values, f"variadicity = #irdl<variadicity_array[{', '.join(kinds)}]>, ")

    def attributes(self, attributes: Sequence[tuple[str, Constraint]]) -> None:
        """Writes the required attributes, each with its constraint."""
        if attributes:
            values = [f"{json.dumps(name)} = {self.any_of(constraint)}" for name, constraint in attributes]
            self.lines.append(f"irdl.attributes {{ {', '.join(values)} }}")


def _union(*constraints: Constraint) -> Constraint:
    found = tuple(dict.fromkeys(text for constraint in constraints for text in constraint))
    return _ANY if _ANY[0] in found else found


def _schema_operation(op: type[SchemaOp], runs: int) -> list[str]:
    body = _Body(runs)
    definition, schema = op.get_irdl_definition(), op.schema
    tensor: Constraint = (_base(_BUILTIN[TensorType]),)
    body.groups("operands", definition.operands, lambda _: tensor)
    all_tensors = all(kind.is_tensor for kind in schema.returns)
    body.groups("results", definition.results, lambda _: tensor if all_tensors else _ANY)
    required = [item for item in schema.attributes.values() if not item.may_be_absent]
    body.attributes([(item.name, _schema_attribute(item.type)) for item in required])
    return _block(f"irdl.operation @{schema.name}", [body.lines])


def _schema_attribute(kind: SchemaType) -> Constraint:
    if kind.base == "bool" and not kind.is_list:
        return ("irdl.is true", "irdl.is false")
    if kind.base not in _SCHEMA and kind.base != "bool":
        return _ANY
    return (_base("#builtin.dense_array"),) if kind.is_list else tuple(_base(name) for name in _SCHEMA[kind.base])


def _kind(kind: type[ParametrizedAttribute], known: Symbols) -> list[str]:
    body = _Body()
    parameters = kind.get_irdl_definition().parameters
    values = [body.any_of(_constraint(item.constr, known, attribute=True)) for _, item in parameters]
    body.define("parameters", [name for name, _ in parameters], values)
    what = "type" if issubclass(kind, TypeAttribute) else "attribute"
    return _block(f"irdl.{what} @{kind.name.partition('.')[2]}", [body.lines])


def _operation(op: type[IRDLOperation], known: Symbols, runs: int) -> list[str]:
    body = _Body(runs)
    definition = op.get_irdl_definition()
    body.groups("operands", definition.operands, lambda constraint: _range(constraint, known))
    body.groups("results", definition.results, lambda constraint: _range(constraint, known))
    required = [(name, item) for name, item in definition.properties.items() if not isinstance(item, OptPropertyDef)]
    body.attributes([(name, _constraint(item.constr, known, attribute=True)) for name, item in required])
    regions = definition.regions
    if not any(isinstance(item, OptionalDef | VariadicDef) for _, item in regions):
        sizes = [" with size 1" if isinstance(item, SingleBlockRegionDef) else "" for _, item in regions]
        values = [body.value(f"irdl.region{size}") for size in sizes]
        body.define("regions", [name for name, _ in regions], values, kind="!irdl.region")
    return _block(f"irdl.operation @{op.name.partition('.')[2]}", [body.lines])


def _is_list(item: OperandDef | ResultDef) -> bool:
    return isinstance(item, VariadicDef) and not isinstance(item, OptionalDef)


def for_irdl(root: Operation, runs: int | None = None) -> Operation:
    """Returns a copy of `root` for an `mlir-opt` that loads its dialects from IRDL.

    Operations of such a dialect get attributes with the segment sizes of operands and results. A terminator is followed by
    `llvm.unreachable`, because an operation from IRDL cannot be a terminator.

    Raises:
        OperationError: a list has more than `runs` runs of values of one type, or an operation branches.
    """
    runs = IRDL_RUNS if runs is None else runs
    copy = root.clone()
    known = get_all_dialects()
    for original, op in zip(list(root.walk()), list(copy.walk()), strict=True):
        if not isinstance(op, IRDLOperation) or isinstance(op, ImportedOp) or op.dialect_name() in known:
            continue
        op.attributes.update(_segment_attributes(op, original, runs))
        if op.has_trait(IsTerminator) and op.parent is not None and op.next_op is None:
            if op.successors:
                raise OperationError(original, f"{op.name} branches to blocks, which IRDL does not support")
            op.parent.add_op(UnreachableOp())
    return copy


def _segment_attributes(op: IRDLOperation, original: Operation, runs: int) -> dict[str, Attribute]:
    definition = op.get_irdl_definition()
    found: dict[str, Attribute] = {}
    for what, items, values in (("operand", definition.operands, op.operands), ("result", definition.results, op.results)):
        if sum(runs if _is_list(item) else isinstance(item, VariadicDef) for _, item in items) < 2:
            continue
        sizes: list[int] = []
        first = 0
        for (name, item), size in zip(items, _sizes(op, what, [item for _, item in items], len(values)), strict=True):
            if _is_list(item):
                lengths = [len(list(run)) for _, run in groupby(value.type for value in values[first : first + size])]
                if len(lengths) > runs:
                    types = f"the list '{name}' of {op.name} has {what}s of {len(lengths)} types in turn"
                    hint = f"use --irdl-runs={len(lengths)} here and with --emit-irdl"
                    raise OperationError(original, f"{types}, for which the IRDL has {runs} places: {hint}")
                sizes += [*lengths, *[0] * (runs - len(lengths))]
            else:
                sizes.append(size)
            first += size
        found[f"{what}_segment_sizes"] = DenseArrayBase.from_list(i32, sizes)
    return found


def _sizes(op: IRDLOperation, what: str, items: Sequence[OperandDef | ResultDef], total: int) -> Sequence[int]:
    """Returns the number of operands or results of each group."""
    stored = op.properties.get(f"{what}SegmentSizes") or op.attributes.get(f"{what}SegmentSizes")
    if isinstance(stored, DenseArrayBase):
        return cast("DenseArrayBase[Any]", stored).get_values()
    rest = total - sum(not isinstance(item, VariadicDef) for item in items)
    return [rest if isinstance(item, VariadicDef) else 1 for item in items]


def _range(constraint: RangeConstraint, known: Symbols) -> Constraint:
    while isinstance(constraint, RangeLengthConstraint):
        constraint = constraint.constraint
    return _constraint(constraint.constr, known) if isinstance(constraint, RangeOf) else _ANY


def _constraint(constraint: AttrConstraint, known: Symbols, *, attribute: bool = False) -> Constraint:
    """Returns the IRDL for an xDSL constraint on a type or an attribute, as far as IRDL can express it."""
    match constraint:
        case MessageConstraint():
            return _constraint(constraint.constr, known, attribute=attribute)
        case VarConstraint():
            return _constraint(constraint.constraint, known, attribute=attribute)
        case AnyOf():
            return _union(*(_constraint(item, known, attribute=attribute) for item in constraint.attr_constrs))
        case BaseAttr():
            return _class(constraint.attr, known, attribute=attribute)
        case ParamAttrConstraint():
            return _class(constraint.base_attr, known, attribute=attribute)
        case EqAttrConstraint() if issubclass(type(constraint.attr), IntegerType | AnyFloat | IndexType):
            return (f"irdl.is {constraint.attr}",)
        case EqAttrConstraint():
            return _class(type(constraint.attr), known, attribute=attribute)
        case ArrayOfConstraint():
            return (_base(_BUILTIN[ArrayAttr]),)
        case SymbolNameConstraint():
            return (_base(_BUILTIN[StringAttr]),)
        case _:
            return _ANY


def _class(kind: type[Attribute], known: Symbols, *, attribute: bool) -> Constraint:
    if attribute and issubclass(kind, TypeAttribute):
        return (_base("#builtin.type"),)
    if kind in known:
        return (f'"irdl.base"() {{base_ref = {known[kind]}}} : () -> !irdl.attribute',)
    return (_base(_BUILTIN[kind]),) if kind in _BUILTIN else _ANY
