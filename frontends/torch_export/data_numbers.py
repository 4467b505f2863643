"""Imports numbers known only at run time as values `f64`, `i64` and `i1`: `item()`, arithmetic on it and on sizes, truth values.

Operators receive these numbers as tensors without dimensions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeGuard, cast

from xdsl.dialects import arith, tensor
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, f64, i1, i64
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.aten.creation import OneNumberOp
from flambeau.dialects.aten.movement.shape import ExpandOp
from flambeau.dialects.flambeau.symbol_operations import Relation, ValueOp
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, shape_of, tensor_type
from flambeau.dialects.ir.tensor_types import tensor as make_type
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.operators import find_op
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.schema import Schema
from flambeau.frontends.torch_export.imported_operators import Insert, UnsupportedError, overloads

_PREDICATES: dict[Relation, str] = {"eq": "eq", "ne": "ne", "lt": "slt", "le": "sle"}
"""The predicates of `arith.cmpi`, by relation."""
_COMPARED = {
    "eq": ("eq", "oeq"),
    "ne": ("ne", "une"),
    "lt": ("slt", "olt"),
    "le": ("sle", "ole"),
    "gt": ("sgt", "ogt"),
    "ge": ("sge", "oge"),
}
"""The predicates of `arith.cmpi` and `arith.cmpf`, by Python's name."""
_SIZES_COMPARED: dict[str, tuple[Relation, bool]] = {
    "eq": ("eq", False),
    "ne": ("ne", False),
    "lt": ("lt", False),
    "le": ("le", False),
    "gt": ("lt", True),
    "ge": ("le", True),
}
"""By Python's name: the relation between sizes, and whether its sides are exchanged."""
_OPPOSITES: dict[Relation, tuple[Relation, bool]] = {"eq": ("ne", False), "ne": ("eq", False), "lt": ("le", True), "le": ("lt", True)}
"""The relation that holds where another does not, and whether its sides are exchanged."""
_ARITHMETIC: dict[str, tuple[Any, Any]] = {
    "add": (arith.AddiOp, arith.AddfOp),
    "sub": (arith.SubiOp, arith.SubfOp),
    "mul": (arith.MuliOp, arith.MulfOp),
}
"""The operations on integers and on floats, by Python's name."""
_LOGIC: dict[str, Any] = {"and": arith.AndIOp, "or": arith.OrIOp, "xor": arith.XOrIOp}
_FUNCTIONS = ("acos", "asin", "atan", "ceil", "cos", "cosh", "exp", "floor", "log", "log2", "round", "sin", "sinh", "sqrt", "tan", "tanh")
"""Functions of a float, which are computed on a tensor without dimensions."""


@dataclass(frozen=True)
class Comparison:
    """A relation between two sizes, as a truth value."""

    left: int
    relation: Relation
    right: int


@dataclass(frozen=True)
class Item:
    """The float or bool in a tensor."""

    tensor: SSAValue
    """The tensor, which has no dimensions."""


@dataclass(frozen=True)
class Number:
    """A number computed from sizes or data that is not expressible as an extent."""

    value: SSAValue
    """An `f64`, `i64` or `i1`."""
    is_of_sizes: bool = False
    """Whether the number depends only on sizes. For other numbers, a fact that PyTorch knows may come from a later check."""


DataNumber: TypeAlias = Item | Number | Comparison


@dataclass(frozen=True)
class Arithmetic:
    """An emitter of arithmetic."""

    insert: Insert

    def emit(self, op: Operation) -> SSAValue:
        """Adds an operation and returns its first result."""
        self.insert(op)
        return op.results[0]

    def value(self, number: int | float | DataNumber, kind: Attribute | None = None) -> SSAValue:
        """Returns the value of a number, converted to `kind` if given."""
        found = self._value(number)
        return found if kind is None or found.type == kind else self._converted(found, kind)

    def _value(self, number: int | float | DataNumber) -> SSAValue:
        match number:
            case Number():
                return number.value
            case Item():
                return self.element(number.tensor)
            case Comparison():
                left, right = (self._value(side) for side in (number.left, number.right))
                return self.emit(arith.CmpiOp(left, right, _PREDICATES[number.relation]))
            case bool():
                return self.emit(arith.ConstantOp(IntegerAttr(number, i1)))
            case int():
                return self.emit(ValueOp(number))
            case float():
                return self.emit(arith.ConstantOp(FloatAttr(number, f64)))

    def element(self, source: SSAValue) -> SSAValue:
        """Returns the only element of a tensor of bools or floats."""
        kind = tensor_type(source)
        zeros = [self.emit(arith.ConstantOp(IntegerAttr(0, IndexType()))) for _ in shape_of(kind)]
        found = self.emit(tensor.ExtractOp(source, zeros, kind.element_type))
        return found if kind.element_type in (f64, i1) else self.emit(arith.ExtFOp(found, f64))

    def truth(self, source: SSAValue) -> SSAValue:
        """Returns whether the only element of a tensor is nonzero."""
        if element_of(source) == i1:
            return self.element(source)
        return self.element(self.emit(aten.ne.Scalar(source, 0).op))

    def _converted(self, value: SSAValue, kind: Attribute) -> SSAValue:
        if value.type == i1:
            value = self.emit(arith.ExtUIOp(value, i64))
        if value.type == i64 and kind == f64:
            return self.emit(arith.SIToFPOp(value, f64))
        if value.type == f64 and kind == i64:
            return self.emit(arith.FPToSIOp(value, i64))
        return value if kind != i1 else self.emit(arith.CmpiOp(value, self._value(0), "ne"))

    def as_tensor(self, number: DataNumber, element: Attribute | None = None) -> SSAValue:
        """Returns the 0-d tensor that holds a number, with the given element type if there is one."""
        if isinstance(number, Item):
            found = number.tensor
        else:
            value = self._value(number)
            found = self.emit(tensor.FromElementsOp.create(operands=[value], result_types=[make_type(cast(Any, value.type), ())]))
        return found if element in (None, element_of(found)) else self.emit(aten._to_copy(found, dtype=element).op)

    def compute(self, function: str, operands: Sequence[Any], kind: Attribute) -> Number | Comparison | None:
        """Emits a Python function of numbers, with a result of type `kind`. Returns None if the function has no form in the IR."""
        function = function.strip("_").removeprefix("sym_")
        if (compared := _compare(function, operands)) is not None:
            return compared
        result = self._compute(function, operands, kind)
        return None if result is None else Number(self.value(Number(result), kind), all(map(is_of_sizes, operands)))

    def _compute(self, function: str, operands: Sequence[Any], kind: Attribute) -> SSAValue | None:
        if function in _COMPARED or function in _ARITHMETIC:
            sides = [self.value(item) for item in operands]
            is_float = f64 in (side.type for side in sides)
            first, second = (self.value(Number(side), f64 if is_float else i64) for side in sides)
            if function in _COMPARED:
                return self.emit((arith.CmpfOp if is_float else arith.CmpiOp)(first, second, _COMPARED[function][is_float]))
            return self.emit(_ARITHMETIC[function][is_float](first, second))
        match function, operands:
            case (("max" | "min"), (first, second)):
                left, right = self.value(first, kind), self.value(second, kind)
                if kind == i64:
                    return self.emit((arith.MaxSIOp if function == "max" else arith.MinSIOp)(left, right))
                # The floats of `executorch_prim` have no maximum.
                is_right = self.emit(arith.CmpfOp(right, left, "ogt" if function == "max" else "olt"))
                return self.emit(arith.SelectOp(is_right, right, left))
            case "abs", (first,):
                return self._compute("max", (first, self.compute("neg", (first,), kind)), kind)
            case (("and" | "or" | "xor"), (first, second)) if kind == i1:
                return self.emit(_LOGIC[function](self.value(first, i1), self.value(second, i1)))
            case "not", (first,):
                return self.emit(arith.XOrIOp(self.value(first, i1), self.value(True)))
            case "ite", (condition, first, second):
                return self.emit(arith.SelectOp(self.value(condition, i1), self.value(first, kind), self.value(second, kind)))
            case "neg", (first,):
                value = self.value(first, kind)
                return self.emit(arith.NegfOp(value) if kind == f64 else arith.SubiOp(self.value(0), value))
            case "truediv", (first, second):
                return self.emit(arith.DivfOp(self.value(first, f64), self.value(second, f64)))
            case (("floordiv" | "mod"), (first, second)) if kind == i64:
                left, right = self.value(first, i64), self.value(second, i64)
                quotient = self.emit(arith.FloorDivSIOp(left, right))
                return quotient if function == "floordiv" else self.emit(arith.SubiOp(left, self.emit(arith.MuliOp(quotient, right))))
            case "pow", (first, int() | float() as exponent) if kind == f64:
                return self.element(self.emit(aten.pow.Tensor_Scalar(self._float_tensor(first), exponent).op))
            case (("float" | "int" | "trunc"), (first,)):
                return self.value(first)
            case _, (first,) if function in _FUNCTIONS:
                return self.element(self.emit(getattr(aten, function)(self._float_tensor(first)).op))
            case _:
                return None

    def _float_tensor(self, number: Any) -> SSAValue:
        return self.as_tensor(Number(self.value(number, f64)))


def is_size(value: Any) -> TypeGuard[int]:
    """Returns whether a value is an integer or an extent."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_of_sizes(value: Any) -> bool:
    """Returns whether a number depends on sizes only."""
    return value.is_of_sizes if isinstance(value, Number) else not isinstance(value, Item)


def _compare(function: str, operands: Sequence[Any]) -> Comparison | None:
    """Returns the comparison of two sizes that a function computes, or None."""
    match operands:
        case (Comparison() as found,) if function == "not":
            relation, exchanged = _OPPOSITES[found.relation]
            return Comparison(found.right, relation, found.left) if exchanged else Comparison(found.left, relation, found.right)
        case (left, right) if function in _SIZES_COMPARED and is_size(left) and is_size(right):
            relation, exchanged = _SIZES_COMPARED[function]
            return Comparison(right, relation, left) if exchanged else Comparison(left, relation, right)
        case _:
            return None


def with_tensors(cls: type[SchemaOp], given: dict[str, Any], types: Sequence[Tensor], insert: Insert) -> type[SchemaOp]:
    """Returns the class to call in place of `cls`, and makes data-dependent numbers in `given` tensors. Raises UnsupportedError."""
    numbers = {name: value for name, value in given.items() if isinstance(value, DataNumber)}
    if not numbers:
        return cls
    arithmetic = Arithmetic(insert)
    if issubclass(cls, OneNumberOp):
        filled = arithmetic.as_tensor(next(iter(numbers.values())), element_of(types[0]))
        given.clear()
        given.update(self=filled, size=shape_of(types[0]), implicit=False)
        return ExpandOp
    found = _sibling(cls, numbers.keys())
    if found is None:
        raise UnsupportedError("it takes a number that data decides where a tensor has no place; keep it a tensor, without item()")
    element = _joining(list(given.values()), types)
    for name, value in numbers.items():
        given[name] = arithmetic.as_tensor(value, element)
    return found


def _joining(given: Sequence[Any], types: Sequence[Tensor]) -> Attribute | None:
    """Returns the element type for a number among tensor operands: that of the tensors if floats, else of float results, or None."""
    kinds = [*(tensor_type(cast(SSAValue, item)) for item in given if isinstance(item, SSAValue)), *types]
    return next((element_of(kind) for kind in kinds if dtype_of(element_of(kind)).category > 1), None)


def _sibling(cls: type[SchemaOp], names: Any) -> type[SchemaOp] | None:
    """Returns the overload with the same arguments, except that some Scalars are tensors, among them `names`; None if there is none."""

    def fits(schema: Schema) -> bool:
        own = {argument.name: argument.type.plain for argument in cls.schema.arguments}
        found = {argument.name: argument.type.plain for argument in schema.arguments}
        if own.keys() != found.keys() or not all(found[name].is_tensor for name in names):
            return False
        return all(kind in (own[name], replace(own[name], base="Tensor")) for name, kind in found.items())

    schema = next(filter(fits, overloads(cls.schema.base)), None)
    return None if schema is None else find_op(f"aten.{schema.name}")
