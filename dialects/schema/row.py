"""One row per operator: the class that an operator's few lines derive from, and everything that follows from the schema.

A row is a class with an upstream schema, a docstring and static functions over the operator's arguments:

* `infer(types and attribute values) -> result types`
* `numpy(arrays and attribute values) -> arrays`: the meaning
* `decompose(SSA values and attribute values) -> values`: the same in terms of other operators, built detached
* `on_parts(SSA values, Parts of complex ones, and attribute values) -> values and Parts`: the same on complex tensors, in terms of
  operators on their real and imaginary parts; None where the operator stays. Without it complex tensors go the way of `decompose`
* `bounds(Ranges of tensors and numbers, and other attribute values) -> Range`: the range of the result's elements before rounding

Each names the arguments that it uses. Parameters before `/` take the schema's first arguments, whatever they are called; each other
parameter takes the argument of its name, with or without a trailing underscore, and its own default if the schema has none of that name;
`*args` takes the arguments that are left:

    @aten("elu(Tensor self, Scalar alpha=1, Scalar scale=1, Scalar input_scale=1) -> Tensor", core=True)
    class EluOp(FloatOnlyUnaryOp):
        @staticmethod
        def numpy(x: Array, /, alpha: float, scale: float, input_scale: float) -> Array: ...

Overloads whose rows differ in their schemas alone share a class: each is a line `@aten("…")` above it. The class itself is the operator of
the lowest line; the classes of the others are found by name.

From the schema follow operands and attributes, the constructor, the shared syntax, verification, and the siblings in the
`core` and `edge` dialects.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, ClassVar, Literal, Self, TypeAlias, TypeVar, cast

from xdsl.dialects.builtin import DenseArrayBase, i32
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.irdl import IRDLOperation, OpDef, traits_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import MemoryWriteEffect, Pure
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.attribute_values import to_value
from flambeau.dialects.ir.extents import UndecidedError
from flambeau.dialects.ir.tensor_types import (
    DTYPES,
    Tensor,
    dtype_of,
    element_of,
    holds_complex,
    shape_of,
)
from flambeau.dialects.ir.verify import verifies_types_only
from flambeau.dialects.schema.inferred_types import UndecidedTypesError, check_types
from flambeau.dialects.schema.irdl_definitions import irdl_definition
from flambeau.dialects.schema.operation_checks import check_operation
from flambeau.dialects.schema.operation_syntax import (
    ABSENT,
    SEGMENTS,
    absent_elements,
    parse_operation,
    print_operation,
    with_absent,
)
from flambeau.dialects.schema.row_functions import argument_places, flat_results
from flambeau.dialects.schema.row_table import ROWS, cached_over_rows, dialect_names, register_row
from flambeau.dialects.schema.schema import Schema, SchemaArgument, Value, parse_schema
from flambeau.dialects.schema.syntax import normalized_attribute

Argument: TypeAlias = "SSAValue | Operation | Attribute | Value | Sequence[SSAValue | Operation | None] | Sequence[Value]"

Function: TypeAlias = Literal["infer", "numpy", "decompose", "on_parts", "bounds"]
"""A function of a row."""
PURE = traits_def(Pure())
"""The traits of operators that only compute."""
WRITES = traits_def(MemoryWriteEffect())
"""The traits of operators that write to an argument or draw random numbers."""


class SchemaOp(IRDLOperation):
    """An operation whose operands, attributes and syntax follow from an operator schema.

    Syntax: `%r = aten.conv2d(%x, %w, none) {stride = [2, 2]} : (types) -> type`. Absent optional tensors are `none`, lists are `[%a, %b]`;
    attributes equal to the schema's default are neither stored nor printed.

    Calling its class makes one that stands nowhere yet. Arguments stand in the schema's order or by name: tensors are values, operations of
    one result, lists of them, or None; the others are Python values. Result types are inferred. Raises TypeError for arguments that the
    schema does not have, and VerifyException for operands that do not fit.

    Example:
        add = op("aten.add.Tensor")(product.operands[0], total, alpha=2)
        assert str(add.result.type) == "tensor<4xf32>"
        assert add.argument("alpha") == 2 and product.argument("other") == 0.5
    """

    schema: ClassVar[Schema]
    core: ClassVar[bool] = False
    """Core ATen: torch tags it `core`."""
    keep: ClassVar[bool] = False
    """Not core, but a target that has its kernel or fused form, or a backend, keeps it whole: it exists in `core` and `edge` too. A kernel
    alone is not enough: `unbind` and `clamp_min` have kernels, and passes know what they decompose into better than them."""
    inplace: ClassVar[tuple[int, ...]] = ()
    """Operands whose storage the first result may take over: the kernel reads their element i before or as it writes element i."""
    random: ClassVar[bool] = False
    """Two equal calls may give different results (torch tags it `nondeterministic_seeded`): neither folded nor shared."""
    elementwise: ClassVar[bool] = False
    """Each element of the results is computed from the elements of the operands at its place, so operands and results share a layout."""
    computes_in: ClassVar[Literal["result", "promoted"] | None] = None
    """The element type that the tensor operands are converted to before anything is computed: that of the result, or that to which the
    first two operands promote. None where each operand is read as it is."""
    promotes_from: ClassVar[int] = 0
    """The first operand to which `computes_in` applies."""
    dim_order: ClassVar[Literal["kept", "read"] | None] = None
    """What becomes of the dim order of the first operand: the results keep it, or it is read in any and the results are row-major. None:
    operands and results are row-major, but for those of elementwise operators."""
    moves: ClassVar[bool] = False
    """Each element of the results is an element of a tensor operand, perhaps in another element type. True of every view."""
    looks_up: ClassVar[bool] = False
    """Each element of the result is an element of the first operand, which the other operands name."""
    stores: ClassVar[bool] = False
    """Its tensors may be of float8, in which nothing is computed. True of every row that `moves`."""
    limits: ClassVar[bool] = False
    """Each element of the result is that of the first operand, limited to the `bounds` that the other arguments give."""
    joins: ClassVar[Literal["along", "across"] | None] = None
    """The result is the tensors of the first argument one after another: along the dimension `dim` that they have, or across a new one."""
    activations: ClassVar[tuple[tuple[str, *tuple[Value, ...]], ...]] = ()
    """The activations of fused operators (`runtime/c/kernels/epilogue.def`) that this is, each with the arguments after the tensor."""
    takes: ClassVar[frozenset[Attribute] | None] = None
    """The element types of the first tensor for which PyTorch implements the operator. None: all, but for those that `infer` refuses."""
    any_order: ClassVar[tuple[int, ...]] = ()
    """Operands that may be, as then the result may, in any dim order whose innermost dimension is the last."""
    traits = PURE

    siblings: ClassVar[dict[str, type[SchemaOp]]]
    """The classes of this row: `row` and one per dialect made so far."""
    definition: ClassVar[OpDef | None] = None

    def __init__(self, *args: Argument, result_types: Sequence[Attribute] | None = None, **kwargs: Argument):
        arguments = self.schema.arguments
        if len(args) > len(arguments):
            raise TypeError(f"{self.name} takes {len(arguments)} arguments, got {len(args)}")
        given = dict(zip((a.name for a in arguments), args, strict=False))
        for name, value in kwargs.items():
            if name in given or all(name.rstrip("_") != a.name.rstrip("_") for a in arguments):
                raise TypeError(f"{self.name} has no free argument {name!r}")
            given[next(a.name for a in arguments if a.name.rstrip("_") == name.rstrip("_"))] = value
        operands: list[SSAValue] = []
        segments: list[int] = []
        properties: dict[str, Attribute] = {}
        for argument in arguments:
            value = given.get(argument.name)
            if argument.type.is_tensor:
                segments.append(self._add_operands(argument, value, operands, properties))
            elif argument.name in given:
                if isinstance(value, list):
                    value = tuple(cast("list[Value]", value))
                attribute = normalized_attribute(argument, cast("Value | Attribute", value))
                if attribute is not None:
                    properties[argument.name] = attribute
            elif not argument.may_be_absent:
                raise TypeError(f"{self.name} needs the argument {argument.name!r}")
        if self.has_segments():
            properties[SEGMENTS] = DenseArrayBase.from_list(i32, segments)
        if result_types is None:
            result_types = self.infer_types(operands, properties)
        Operation.__init__(self, operands=operands, result_types=result_types, properties=properties)

    def _add_operands(self, argument: SchemaArgument, value: Any, operands: list[SSAValue], properties: dict[str, Attribute]) -> int:
        if argument.type.is_list:
            items: list[SSAValue | Operation | None] = list(value or ())
            present = [SSAValue.get(item) for item in items if item is not None]
            if argument.type.element_optional and len(present) < len(items):
                properties[ABSENT] = absent_elements(items)
            operands.extend(present)
            return len(present)
        if value is None:
            if not argument.may_be_absent:
                raise TypeError(f"{self.name} needs the tensor {argument.name!r}")
            return 0
        operands.append(SSAValue.get(value))
        return 1

    @classmethod
    def has_segments(cls) -> bool:
        """Returns whether operands are optional or lists, so that their counts are stored."""
        return cls.schema.has_segments

    @classmethod
    def from_attributes(
        cls,
        operands: Sequence[SSAValue],
        result_types: Sequence[Attribute],
        properties: dict[str, Attribute],
        attributes: dict[str, Attribute] | None = None,
    ) -> Self:
        """Returns an operation with just these parts: for code that already holds them. Nothing is checked."""
        return cls.create(operands=operands, result_types=result_types, properties=properties, attributes=attributes or {})

    def rebuilt(
        self,
        operands: Sequence[SSAValue] | None = None,
        *,
        level: str | None = None,
        result_types: Sequence[Attribute] | None = None,
        **changes: Any,
    ) -> Self:
        """Returns a copy that is in no block, with the same location and without names.

        Args:
            operands: as many as its own, in place of these.
            level: the dialect of the sibling that the copy is.
            result_types: the types of its results; by default its own, or, with other operands, those that are inferred.
            changes: arguments in place of its own.
        """
        kind = type(self) if level is None else type(self).at(level)
        types = self.result_types if operands is None and result_types is None else result_types
        inputs = self.operands if operands is None else operands
        if changes:
            values = iter(inputs)
            names = (argument.name for argument in self.schema.arguments)
            given = {name: _with(value, values) for name, value in zip(names, self.arguments(), strict=True)}
            new = kind(*(given | changes).values(), result_types=types)
        else:
            properties = dict(self.properties)
            found = kind.infer_types(inputs, properties) if types is None else types
            new = kind.from_attributes(inputs, found, properties, dict(self.attributes))
        new.location = self.location
        return new

    # The meaning of a row. A row overrides what it has; `has` says so, and the rest is never called.

    @staticmethod
    def infer(*args: Any, **kwargs: Any) -> Any:
        """Returns result types from operand types and attribute values. Raises ValueError or TypeError that says what does not fit."""
        raise NotImplementedError

    @staticmethod
    def numpy(*args: Any, **kwargs: Any) -> Any:
        """Returns result arrays from operand arrays and attribute values."""
        raise NotImplementedError

    @staticmethod
    def decompose(*args: Any, **kwargs: Any) -> Any:
        """Returns result values from operand values and attribute values, in terms of other operators."""
        raise NotImplementedError

    @staticmethod
    def on_parts(*args: Any, **kwargs: Any) -> Any:
        """Decomposes the operator on complex tensors, which are given and returned as `Parts`; returns None if the operator is kept."""
        raise NotImplementedError

    @staticmethod
    def bounds(*args: Any, **kwargs: Any) -> Any:
        """Returns the `Range` of the elements of the only result, NaN aside, before they are rounded to its element type.

        Tensors and numbers are given as ranges, a tensor that stands in two places as the same object; None for those absent.
        """
        raise NotImplementedError

    @classmethod
    def has(cls, function: Function) -> bool:
        """Returns whether the row defines a function."""
        return getattr(cls, function) is not getattr(SchemaOp, function)

    @classmethod
    def call(cls, function: Function, arguments: Sequence[Any]) -> Any:
        """Returns the result of a function of the row; of the arguments in schema order, those that its parameters name are passed."""
        meaning: Callable[..., Any] = getattr(cls, function)
        places, defaults = _places(cls, function, meaning)
        values = (*arguments, *defaults) if defaults else arguments
        return meaning(*[values[place] for place in places])

    # Arguments

    @classmethod
    def operand_counts(cls, properties: dict[str, Attribute]) -> tuple[int, ...]:
        """Returns the number of operands of each tensor argument. Raises VerifyException."""
        if not cls.has_segments():
            return (1,) * len(cls.schema.operands)
        sizes = properties.get(SEGMENTS)
        if not isinstance(sizes, DenseArrayBase):
            raise VerifyException(f"{cls.name} needs the property {SEGMENTS}")
        return cast("DenseArrayBase[Any]", sizes).get_values()

    @classmethod
    def bind(cls, values: Sequence[Any], properties: dict[str, Attribute]) -> list[Any]:
        """Returns the arguments in schema order: items of `values` (one per operand) for tensors, Python values for attributes."""
        sizes_left = iter(cls.operand_counts(properties))
        position = 0
        bound: list[Any] = []
        for argument in cls.schema.arguments:
            if argument.type.is_tensor:
                count = next(sizes_left)
                items = list(values[position : position + count])
                position += count
                if argument.type.is_list:
                    bound.append(with_absent(items, properties) if argument.type.element_optional else items)
                else:
                    bound.append(items[0] if items else None)
            elif (attribute := properties.get(argument.name)) is not None:
                bound.append(to_value(attribute))
            else:
                bound.append(argument.default)
        return bound

    def arguments(self) -> list[Any]:
        """Returns this operation's arguments in schema order: SSA values (or None, or lists) and Python values."""
        return self.bind(self.operands, self.properties)

    def argument(self, name: str) -> Any:
        """Returns one argument by its schema name: a value or a list of them, a Python value, or None. Raises KeyError."""
        for index, argument in enumerate(self.schema.arguments):
            if argument.name == name:
                attribute = self.properties.get(name)
                return self.arguments()[index] if argument.type.is_tensor or attribute is None else to_value(attribute)
        raise KeyError(f"{self.name} has no argument {name!r}")

    def written(self) -> list[SSAValue]:
        """Returns the operands to which the operator writes, whose new values are the last results."""
        given = zip(self.schema.arguments, self.arguments(), strict=True)
        return flat_results([value for argument, value in given if argument.name in self.schema.written])

    @property
    def result(self) -> OpResult:
        """The only result."""
        if len(self.results) != 1:
            raise ValueError(f"{self.name} has {len(self.results)} results")
        return self.results[0]

    @classmethod
    def infer_types(cls, operands: Sequence[SSAValue], properties: dict[str, Attribute]) -> list[Tensor]:
        """Returns the result types that the row infers. Raises VerifyException with the reason when the operands do not fit."""
        if cls.takes is not None and operands and (element := element_of(operands[0])) not in cls.takes:
            taken = ", ".join(row.torch for row in DTYPES if row.element in cls.takes)
            raise VerifyException(f"{cls.name} is not defined for {dtype_of(element).torch} tensors; it is for {taken}")
        if any(map(holds_complex, operands)) and not (cls.has("decompose") or cls.has("on_parts")):
            raise VerifyException(f"{cls.name} is not defined for complex tensors")
        try:
            inferred = cls.call("infer", cls.bind([operand.type for operand in operands], properties))
        except UndecidedError as error:
            raise UndecidedTypesError(f"{cls.name}: its result types cannot be inferred, for {error}; give them") from error
        except (ValueError, TypeError, IndexError) as error:
            raise VerifyException(f"{cls.name}: {error}") from error
        except NotImplementedError:
            raise VerifyException(f"{cls.name}: its result types cannot be inferred; give them") from None
        kinds = cast("list[Tensor]", flat_results(inferred))
        try:
            check_types([operand.type for operand in operands], kinds, cls.stores)
        except ValueError as error:
            raise VerifyException(f"{cls.name}: {error}") from error
        return kinds

    def inferred_shapes(self) -> Sequence[tuple[int, ...]]:
        """Returns the shapes of the results as the row infers them; as they are declared where it cannot."""
        if self.has("infer"):
            try:
                return [shape_of(kind) for kind in self.infer_types(self.operands, self.properties)]
            except UndecidedTypesError:
                pass
        return [shape_of(result) for result in self.results]

    # Levels

    @classmethod
    def level(cls) -> str:
        """Returns the dialect that this class belongs to."""
        return cls.name.partition(".")[0]

    @classmethod
    def at(cls, level: str) -> type[Self]:
        """Returns the sibling of this operator in another dialect (`AddTensorOp.at("edge")`). Rows of one dialect only stay as they are."""
        sibling = cls.siblings.get(level)
        if sibling is None:
            base = cls.siblings["row"]
            if base.level() != "aten":
                return cls
            schema = base.schema
            if level == "edge" and schema.is_view:
                schema = schema.renamed(f"{schema.base}_copy")
            members = {
                "name": f"{level}.{schema.name}",
                "schema": schema,
                "definition": None,
                "__doc__": base.__doc__,
                "__module__": base.__module__,
            }
            sibling = cls.siblings[level] = type(base.__name__, (base,), members)
        return cast("type[Self]", sibling)

    def draws(self) -> bool:
        """Returns whether another run of this operation may give another result."""
        return self.random

    def whole(self) -> bool:
        """Returns whether kernels of this operator take these operands and attributes. If not, it is decomposed for every target."""
        return True

    # Verification and syntax

    @verifies_types_only
    def verify_(self) -> None:
        """Checks operands, attributes and inferred result types."""
        check_operation(self)
        if (check := _dialect_rule(self.level())) is not None:
            check(self)

    def print(self, printer: Printer) -> None:
        """Prints the shared syntax."""
        print_operation(self, printer)

    @classmethod
    def parse(cls, parser: Parser) -> Self:
        """Parses the shared syntax."""
        return cls.from_attributes(*parse_operation(cls, parser))

    @classmethod
    def get_irdl_definition(cls) -> OpDef:
        """Returns the IRDL definition, for the generic syntax and for tools that list operators."""
        if cls.definition is None:
            cls.definition = irdl_definition(cls)
        return cls.definition


@cached_over_rows
def _places(cls: type[SchemaOp], function: Function, meaning: Callable[..., Any]) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    """Returns the places of the arguments that a function of a row takes, among the schema's and the defaults that follow them."""
    if not cls.has(function):
        raise NotImplementedError(f"{cls.name} has no {function}")
    return argument_places(meaning, cls.schema)


RowT = TypeVar("RowT", bound=SchemaOp)


@cache
def _dialect_rule(level: str) -> Callable[[SchemaOp], None] | None:
    """Returns the additional check of a dialect's operators: `check_operator` of its package, if there is one."""
    return getattr(importlib.import_module(f"flambeau.dialects.{level}"), "check_operator", None) if level in dialect_names() else None


def class_name(operator: str) -> str:
    """Returns the name of the class of an operator that no class statement names: `AddScalarOp` for `add.Scalar`."""
    return "".join(part[:1].upper() + part[1:] for part in operator.replace(".", "_").split("_")) + "Op"


def _again(cls: type[RowT], schema: Schema) -> type[RowT]:
    """Returns a class with the bases and the members of a row, for another schema."""
    members = {key: value for key, value in vars(cls).items() if key not in ("__dict__", "__weakref__")}
    return cast("type[RowT]", type(class_name(schema.name), cls.__bases__, members))


def row(
    dialect: str, namespace: str, schema: str, *, core: bool = False, keep: bool = False, out: str = ""
) -> Callable[[type[RowT]], type[RowT]]:
    """Declares the class below as an operator's row in `dialect`; its schema is upstream's, in `namespace`.

    It may stand above one class several times. The line next to the class declares the class itself; each other one declares a class like
    it, for an overload that has the same documentation and the same functions.

    An operator that writes to arguments (`Tensor(a!) x`) is one of values here: its last results are what these arguments hold after it,
    in the order of the schema, and what it returns of them is not a result of its own.

    `out` is the overload of the out-variant, where that is not the operator's own name with `_out`. In a plug-in, a dialect of that name
    need not exist. Raises ValueError for a schema that does not parse, or an operator that exists.
    """
    parsed = replace(parse_schema(schema, namespace), out_overload=out)
    if parsed.mutates and namespace != "aten":
        parsed = parsed.functional()

    def declare(cls: type[RowT]) -> type[RowT]:
        if not issubclass(cls, SchemaOp):  # pyright: ignore[reportUnnecessaryIsInstance]  plug-ins need not be type-checked
            raise ValueError(f"{cls.__name__} is not an operator: derive it from SchemaOp")
        found = _again(cls, parsed) if "schema" in vars(cls) else cls
        found.name = f"{dialect}.{parsed.name}"
        found.schema, found.core, found.keep = parsed, core, keep
        found.moves, found.stores = cls.moves or parsed.is_view, cls.stores or cls.moves or parsed.is_view
        found.definition = None
        found.siblings = {"row": found, dialect: found}
        found.traits = WRITES if parsed.mutates or found.random else PURE
        if not found.__module__.startswith("flambeau."):
            register_row(found)
            return cls
        rows = ROWS.setdefault(dialect, {})
        if parsed.name in rows:
            raise ValueError(f"{dialect} has two rows for {parsed.name}")
        rows[parsed.name] = found
        return cls

    return declare


def _with(value: Any, operands: Iterator[SSAValue]) -> Any:
    """Returns an argument whose tensors are the next operands."""
    if isinstance(value, list):
        return [_with(item, operands) for item in cast("list[Any]", value)]
    return next(operands) if isinstance(value, SSAValue) else value
