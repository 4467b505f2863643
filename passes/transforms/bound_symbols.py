"""`bound-symbols`: gives the symbols of dynamic dimensions upper bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, TensorType
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import Rewriter

from flambeau.dialects.ir.expressions import INFINITE, Symbol
from flambeau.dialects.ir.extent_attribute import ExtentAttr
from flambeau.dialects.ir.extents import Extent, extent, largest, symbol_of
from flambeau.dialects.ir.tensor_types import is_static, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.manager import OperationPass
from flambeau.support.suggestions import did_you_mean


def check_bound(text: str) -> tuple[str, int]:
    """The name and the number of `s0:512`. Raises ValueError."""
    name, colon, number = text.partition(":")
    if not name or not colon or not number.isdecimal():
        raise ValueError(f"a bound is written NAME:NUMBER, as in s0:512, not {text!r}")
    return name, int(number)


@dataclass
class _Bounds:
    """What becomes of symbols, and the symbols met."""

    bounds: dict[str, int]
    met: dict[str, Symbol]

    def symbol(self, symbol: Symbol) -> Symbol:
        """The symbol with its bound."""
        self.met[symbol.name] = symbol
        high = self.bounds.get(symbol.name, INFINITE)
        if high < symbol.low:
            raise ValueError(f"{symbol.name} is {symbol.low} or more, and cannot be bounded by {high}")
        return Symbol(symbol.name, symbol.low, min(symbol.high, high))

    def extent(self, value: int) -> int:
        """A size with bounded symbols."""
        return extent(value.expression.replaced(self.symbol)) if isinstance(value, Extent) and value.expression is not None else value

    def attribute(self, attribute: Attribute) -> Attribute:
        """An attribute or type with bounded symbols."""
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
        """Changes the type of a value."""
        if (kind := self.attribute(value.type)) != value.type:
            Rewriter.replace_value_with_new_type(cast(Any, value), kind)


@dataclass(frozen=True)
class BoundSymbolsPass(OperationPass):
    """Narrows the ranges of symbols, wherever they stand: `bound-symbols{bounds=s0:512,u1:64}`.

    Needs symbols of these names. Leaves every size that follows from them with a bound, as that of `nonzero` does; a program that is
    compiled afterwards refuses larger ones when it runs.
    """

    name = "bound-symbols"
    bounds: tuple[Annotated[str, check_bound], ...] = ()
    """Names of symbols, each with the greatest value that it may have."""

    @classmethod
    def of(cls, bounds: Mapping[str, int]) -> BoundSymbolsPass:
        """The pass that gives these symbols, by name, these greatest values."""
        return cls(tuple(f"{name}:{most}" for name, most in bounds.items()))

    def apply_to(self, ctx: Context, op: Operation) -> None:
        """Rewrites types and attributes in place. Raises ValueError for a symbol that is not there."""
        given = dict(map(check_bound, self.bounds))
        met = self._apply(op, given)
        for name in given:
            if name not in met:
                there = f"; there are {', '.join(met) or 'none'}"
                raise ValueError(f"no dynamic size is named {name!r}{did_you_mean(name, met)}{there}")
        while following := _following(op):
            self._apply(op, following)

    @staticmethod
    def _apply(op: Operation, given: dict[str, int]) -> dict[str, Symbol]:
        """Gives symbols bounds; gives the symbols that are there."""
        found = _Bounds(given, {})
        for item in op.walk():
            item.properties = {key: found.attribute(value) for key, value in item.properties.items()}
            item.attributes = {key: found.attribute(value) for key, value in item.attributes.items()}
            for region in item.regions:
                for block in region.blocks:
                    for argument in block.args:
                        found.value(argument)
            for result in item.results:
                found.value(result)
        return found.met


def _following(op: Operation) -> dict[str, int]:
    """The greatest values of unbounded sizes that data decides, as the rows of the operators that give them know."""
    bounds: dict[str, int] = {}
    for item in op.walk():
        if not isinstance(item, SchemaOp) or is_static(*item.results):
            continue
        for result, sizes in zip(item.results, item.inferred_shapes(), strict=True):
            for declared, size in zip(shape_of(result), sizes, strict=True):
                symbol, bound = symbol_of(declared), largest(size)
                if symbol is not None and symbol.high == INFINITE and bound is not None:
                    bounds[symbol.name] = bound
    return bounds
