"""Finds the values that define the symbols of a function.

A symbol is defined by the first value whose type has the symbol as the extent of a dimension, or by a `flambeau.define_symbol`.

If there is no earlier definition, an extent that is computed from a single symbol, such as `s0 * 2 + 1`, defines the symbol too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ArrayAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from flambeau.dialects.flambeau.symbol_operations import DefineSymbolOp
from flambeau.dialects.ir.dominance import dominator_tree
from flambeau.dialects.ir.expressions import Expression, Symbol, add, apply, constant, of_symbol
from flambeau.dialects.ir.extent_attribute import ExtentAttr
from flambeau.dialects.ir.extents import Extent, free_symbols
from flambeau.dialects.ir.tensor_types import is_static, shape_of


@dataclass(frozen=True)
class Definition:
    """The definition of a symbol: the extent of a dimension of a value, or the integer in a value."""

    symbol: Symbol
    value: SSAValue
    dim: int | None
    """None where the value holds the integer."""
    expression: Expression
    """The extent in terms of the symbol: `factor * symbol + offset`."""
    factor: int = 1
    offset: int = 0

    def solve(self, extent: Expression) -> Expression:
        """Returns the value of the symbol, where the extent is this."""
        return apply("floordiv", add(extent, constant(-self.offset)), constant(self.factor))


def definitions_of(region: Region) -> dict[SSAValue | Operation, tuple[Definition, ...]]:
    """Returns the definitions of the symbols in a region, by the value or the operation that gives them.

    A symbol that is defined in a branch or a round of a loop has its value there alone, and one that a block defines in those it dominates.
    """
    found: dict[SSAValue | Operation, tuple[Definition, ...]] = {}
    _collect(region, set(), found)
    return found


def _collect(region: Region, known: set[str], found: dict[SSAValue | Operation, tuple[Definition, ...]]) -> None:
    ends: dict[Block | None, set[str]] = {None: known}
    for block, dominator in dominator_tree(region).items():
        here = ends[block] = set(ends[dominator])
        _define(block.args, here, found)
        for op in block.ops:
            for inner in op.regions:
                _collect(inner, here, found)
            _define((op,) if isinstance(op, DefineSymbolOp) else op.results, here, found)


def _define(givers: Sequence[SSAValue | Operation], known: set[str], found: dict[SSAValue | Operation, tuple[Definition, ...]]) -> None:
    candidates = [(giver, definition) for giver in givers for definition in _candidates(giver)]
    # What gives a symbol as it is comes before what it must be computed from.
    for giver, definition in sorted(candidates, key=lambda item: item[1].expression.symbol is None):
        if definition.symbol.name not in known:
            known.add(definition.symbol.name)
            found[giver] = (*found.get(giver, ()), definition)


def _candidates(giver: SSAValue | Operation) -> Iterator[Definition]:
    if isinstance(giver, DefineSymbolOp):
        yield Definition(giver.defines, giver.source, None, of_symbol(giver.defines))
    if not isinstance(giver, SSAValue) or not isinstance(giver.type, TensorType) or is_static(giver):
        return
    for dim, extent in enumerate(shape_of(giver)):
        expression = extent.expression if isinstance(extent, Extent) else None
        if expression is None:
            continue
        match expression.terms:
            case (((Symbol() as symbol,), factor),):
                yield Definition(symbol, giver, dim, expression, factor)
            case (((Symbol() as symbol,), factor), ((), offset)):
                yield Definition(symbol, giver, dim, expression, factor, offset)
            case _:
                pass


def gives_symbol(op: Operation) -> bool:
    """Returns whether result sizes of an operation define a symbol that other operations name, which need it without using its results."""
    own = _symbols_of(result.type for result in op.results)
    around: list[Block] = []
    outer: Operation = op
    while own and (block := outer.parent) is not None and (parent := block.parent_op()) is not None:
        around.append(block)
        own -= _symbols_of(argument.type for argument in block.args)
        outer = parent
        if isinstance(outer, FuncOp):
            break
    if not own:
        return False
    is_after = False
    for item in outer.walk():
        if item is op:
            is_after = True
        elif is_after and own & (_symbols_of(result.type for result in item.results) | _symbols_of(item.properties.values())):
            return True
        elif not is_after and item.parent in around:
            own -= {item.defines.name} if isinstance(item, DefineSymbolOp) else _symbols_of(result.type for result in item.results)
    return False


def _symbols_of(attributes: Iterable[Attribute]) -> set[str]:
    found: set[str] = set()
    for attribute in attributes:
        match attribute:
            case ExtentAttr():
                found.update(symbol.name for symbol in free_symbols(attribute.value))
            case ArrayAttr():
                found |= _symbols_of(attribute)
            case TensorType() if not is_static(attribute):
                found.update(symbol.name for extent in shape_of(attribute) for symbol in free_symbols(extent))
            case _:
                pass
    return found
