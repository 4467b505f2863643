"""`bound-symbols`: gives the symbols of dynamic dimensions upper bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Annotated, Any, cast

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, TensorType
from xdsl.ir import Attribute, Operation, OpResult, SSAValue
from xdsl.rewriter import Rewriter

from flambeau.dialects.ir.expressions import INFINITE, Symbol
from flambeau.dialects.ir.extent_attribute import ExtentAttr
from flambeau.dialects.ir.extents import Extent, extent, largest, maximum, symbol_of
from flambeau.dialects.ir.tensor_types import is_static, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import OperationPass
from flambeau.support.suggestions import did_you_mean


def check_bound(text: str) -> tuple[str, int]:
    """Returns the name and the number of a bound such as `s0:512`. Raises ValueError for another form."""
    name, colon, number = text.partition(":")
    if not name or not colon or not number.isdecimal():
        raise ValueError(f"a bound is written NAME:NUMBER, as in s0:512, not {text!r}")
    return name, int(number)


@dataclass
class _Bounds:
    """The bounds of symbols. Each walk over operations may add bounds."""

    bounds: dict[str, int]
    met: dict[str, Symbol] = field(default_factory=dict[str, Symbol])
    joined: set[str] = field(default_factory=set[str])
    """The symbols of results of branches and loops."""

    def walk(self, op: Operation) -> bool:
        """Gives symbols their bounds within an operation. Returns whether there are new bounds, which earlier operations may lack."""
        known = len(self.bounds)
        for item in op.walk():
            item.properties = {key: self.attribute(value) for key, value in item.properties.items()}
            item.attributes = {key: self.attribute(value) for key, value in item.attributes.items()}
            for region in item.regions:
                for block in region.blocks:
                    for argument in block.args:
                        self.value(argument)
            for result in item.results:
                self.value(result)
            self.learn(item)
            for result in item.results:
                self.value(result)
        return len(self.bounds) > known

    def learn(self, op: Operation) -> None:
        """Bounds the symbols in the result types of an operation by the sizes that follow from its operands or branches."""
        if op.regions:
            # A result of a branch or of a loop is one of several values.
            shapes = [shape_of(result) for result in op.results if isinstance(result.type, TensorType)]
            self.joined.update(symbol.name for shape in shapes for size in shape if (symbol := symbol_of(size)) is not None)
        if isinstance(op, scf.IfOp):
            given = [region.block.last_op.operands for region in op.regions if region.blocks and region.block.last_op is not None]
            for result, *values in zip(op.results, *given, strict=True):
                if isinstance(result.type, TensorType) and not is_static(result):
                    for size, *found in zip(shape_of(result), *map(_inferred, values), strict=True):
                        self.bound(size, reduce(maximum, found))
        elif isinstance(op, SchemaOp) and not is_static(*op.results):
            for result, sizes in zip(op.results, op.inferred_shapes(), strict=True):
                for size, found in zip(shape_of(result), sizes, strict=True):
                    if (symbol := symbol_of(size)) is not None and symbol.name not in self.joined:
                        self.bound(size, found)

    def bound(self, declared: int, found: int) -> None:
        """Bounds a declared size by the greatest value of the size that was found, if the declared size is a symbol without a bound."""
        symbol, bound = symbol_of(declared), largest(found)
        if symbol is not None and symbol.high == INFINITE and bound is not None and bound >= symbol.low:
            self.bounds[symbol.name] = bound

    def symbol(self, symbol: Symbol) -> Symbol:
        """Returns the symbol with its bound."""
        self.met[symbol.name] = symbol
        high = self.bounds.get(symbol.name, INFINITE)
        if high < symbol.low:
            raise ValueError(f"{symbol.name} is {symbol.low} or more, and cannot be bounded by {high}")
        return Symbol(symbol.name, symbol.low, min(symbol.high, high))

    def extent(self, value: int) -> int:
        """Returns a size with bounded symbols."""
        return extent(value.expression.replaced(self.symbol)) if isinstance(value, Extent) and value.expression is not None else value

    def attribute(self, attribute: Attribute) -> Attribute:
        """Returns an attribute or type with bounded symbols."""
        match attribute:
            case ExtentAttr():
                return ExtentAttr.of(self.extent(attribute.value))
            case TensorType():
                if is_static(attribute):
                    return attribute
                return tensor(attribute.element_type, [self.extent(size) for size in shape_of(attribute)], attribute.encoding)
            case FunctionType():
                return FunctionType.from_lists([*map(self.attribute, attribute.inputs)], [*map(self.attribute, attribute.outputs)])
            case ArrayAttr():
                return ArrayAttr([self.attribute(item) for item in attribute])
            case DictionaryAttr():
                return DictionaryAttr({key: self.attribute(item) for key, item in attribute.data.items()})
            case _:
                return attribute

    def value(self, value: SSAValue) -> None:
        """Gives the symbols in the type of a value their bounds."""
        if (kind := self.attribute(value.type)) != value.type:
            Rewriter.replace_value_with_new_type(cast(Any, value), kind)


@dataclass(frozen=True)
class BoundSymbolsPass(OperationPass):
    """Narrows the ranges of symbols everywhere in the module: `bound-symbols{bounds=s0:512,u1:64}`.

    Needs symbols of these names. Leaves a bound on every size that follows from these symbols, such as the size of a result of `nonzero`. A
    program that is compiled afterwards refuses larger sizes at run time.
    """

    name = "bound-symbols"
    bounds: tuple[Annotated[str, check_bound], ...] = ()
    """Names of symbols, each with the greatest value that it may have."""

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites types and attributes in place. Raises ValueError for a symbol that the module does not contain."""
        given = dict(map(check_bound, self.bounds))
        found = _Bounds(dict(given))
        # An operation may be before, or around, the operation from which the bound of its sizes follows.
        while found.walk(op):
            pass
        for name in given:
            if name not in found.met:
                there = f"; there are {', '.join(found.met) or 'none'}"
                raise ValueError(f"no dynamic size is named {name!r}{did_you_mean(name, found.met)}{there}")


def _inferred(value: SSAValue) -> Sequence[int]:
    """Returns the sizes of a value that its operation infers from the operands; the sizes in its type if the operation has no row.

    Inferred sizes may be more exact than the sizes in the type.
    """
    if isinstance(value, OpResult) and isinstance(value.op, SchemaOp):
        return value.op.inferred_shapes()[value.index]
    return shape_of(value)
