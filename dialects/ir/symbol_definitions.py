"""Where a function learns the values of its symbols: the first value whose type has a symbol as the extent of a dimension gives it.

An extent that is computed from one symbol alone, as `s0 * 2 + 1`, gives it too, where no other value does before.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Region, SSAValue

from flambeau.dialects.ir.expressions import Expression, Symbol, add, apply, constant
from flambeau.dialects.ir.extents import Extent
from flambeau.dialects.ir.tensor_types import is_static, shape_of


@dataclass(frozen=True)
class Definition:
    """A dimension of a value, whose extent gives the value of a symbol."""

    symbol: Symbol
    value: SSAValue
    dim: int
    expression: Expression
    """The extent. It is `factor * symbol + offset`."""
    factor: int = 1
    offset: int = 0

    def solve(self, extent: Expression) -> Expression:
        """The value of the symbol, where the dimension has this extent."""
        return apply("floordiv", add(extent, constant(-self.offset)), constant(self.factor))


def definitions_of(region: Region) -> dict[SSAValue, tuple[Definition, ...]]:
    """The definitions of the symbols in a region, by the value that gives them."""
    known: set[str] = set()
    found: dict[SSAValue, list[Definition]] = {}
    later: list[Definition] = []
    for value in _values(region):
        for definition in _candidates(value):
            if definition.expression.symbol is None:
                later.append(definition)
            elif definition.symbol.name not in known:
                known.add(definition.symbol.name)
                found.setdefault(value, []).append(definition)
    for definition in later:
        if definition.symbol.name not in known:
            known.add(definition.symbol.name)
            found.setdefault(definition.value, []).append(definition)
    return {value: tuple(items) for value, items in found.items()}


def _values(region: Region) -> Iterator[SSAValue]:
    for block in region.blocks:
        yield from block.args
        for op in block.ops:
            yield from op.results
            for inner in op.regions:
                yield from _values(inner)


def _candidates(value: SSAValue) -> Iterator[Definition]:
    if not isinstance(value.type, TensorType) or is_static(value):
        return
    for dim, extent in enumerate(shape_of(value)):
        expression = extent.expression if isinstance(extent, Extent) else None
        if expression is None:
            continue
        match expression.terms:
            case (((Symbol() as symbol,), factor),):
                yield Definition(symbol, value, dim, expression, factor)
            case (((Symbol() as symbol,), factor), ((), offset)):
                yield Definition(symbol, value, dim, expression, factor, offset)
            case _:
                pass
