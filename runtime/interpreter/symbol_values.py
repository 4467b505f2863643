"""The values of symbols while a function runs: taken from the arrays that define the symbols, and checked against all other arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from xdsl.ir import Operation, SSAValue

from flambeau.dialects.flambeau.symbol_definitions import Definition
from flambeau.dialects.flambeau.symbol_operations import HOLDS, SIGNS, AssertOp, DefineSymbolOp, Relation, ValueOp
from flambeau.dialects.ir.expressions import constant
from flambeau.dialects.ir.extents import Extent
from flambeau.runtime.interpreter.function_interface import InterpreterError
from flambeau.support.lazy import Array, np

Definitions: TypeAlias = Mapping[SSAValue | Operation, Sequence[Definition]]
"""The definitions of a function's symbols, by the values that give them."""


class SymbolValues:
    """The values of symbols in one call of a function."""

    def __init__(self, definitions: Definitions):
        self._definitions = definitions
        self._values: dict[str, int] = {}

    def learn(self, giver: SSAValue | Operation, array: Array, op: Operation | None, what: str = "") -> None:
        """Stores the values of the symbols that `giver` defines, from its array. Raises InterpreterError for a value out of range.

        `op` and `what` name the place in the message.
        """
        for definition in self._definitions.get(giver, ()):
            extent = int(array) if definition.dim is None else array.shape[definition.dim]
            found = definition.solve(constant(extent)).evaluate({})
            symbol = definition.symbol
            if not symbol.low <= found <= symbol.high or definition.expression.evaluate({symbol.name: found}) != extent:
                has = f"it is {extent}" if definition.dim is None else f"dimension {definition.dim} has {extent} entries"
                raise InterpreterError(f"{what}{has}, and must {'be' if definition.dim is None else 'have'} {bounded(definition)}", op)
            self._values[symbol.name] = found

    def check(self, array: Array, extents: Sequence[int], what: str) -> None:
        """Raises InterpreterError unless an array has a shape of these extents, with the values of symbols; `what` begins the message."""
        for dim, (extent, found) in enumerate(zip(extents, array.shape, strict=True)):
            if not self.fits(extent, found):
                low, high = extent.range if isinstance(extent, Extent) else (extent, extent)
                wanted = f"{low} to {high}" if low != high else str(low)
                if isinstance(extent, Extent) and extent.expression is not None and low <= found <= high:
                    wanted = f"{extent} = {extent.expression.evaluate(self._values)}"
                raise InterpreterError(f"{what}dimension {dim} has {found} entries, and must have {wanted}")

    def fits(self, extent: int, found: int) -> bool:
        """Returns whether a dimension of extent `extent` may have `found` entries."""
        if not isinstance(extent, Extent):
            return extent == found
        low, high = extent.range
        if extent.expression is None or any(symbol.name not in self._values for symbol in extent.expression.symbols):
            return low <= found <= high
        return extent.expression.evaluate(self._values) == found

    def number(self, value: Any, op: Operation) -> Any:
        """Returns an argument, or a tuple, with symbolic extents replaced by their values. Raises InterpreterError for unknown symbols."""
        if isinstance(value, tuple):
            return tuple(self.number(item, op) for item in value)  # pyright: ignore[reportUnknownVariableType]  any tuple
        if not isinstance(value, Extent):
            return value
        try:
            return value.expression.evaluate(self._values) if value.expression is not None else None
        except (KeyError, ZeroDivisionError) as error:
            why = f"nothing gives {error} a value" if isinstance(error, KeyError) else str(error)
            raise InterpreterError(f"{op.name}: {value} cannot be computed: {why}", op) from error


def bounded(definition: Definition) -> str:
    """Returns a description of the sizes that the dimension which defines a symbol may have."""
    symbol = definition.symbol
    low, high = definition.expression.range
    multiple = f"a number of the form {definition.expression}, " if definition.expression.symbol is None else ""
    return f"{multiple}from {low} to {high}" if symbol.high != float("inf") else f"{multiple}{low} or more"


def symbol_kernel(op: DefineSymbolOp | AssertOp | ValueOp) -> Callable[[list[Array], Any], Sequence[Array]]:
    """Returns the kernel of an operation on symbols: a function of the operands' arrays and the scope."""

    def run(values: list[Array], scope: Any) -> Sequence[Array]:
        symbols: SymbolValues = scope.symbols
        match op:
            case DefineSymbolOp():
                symbols.learn(op, values[0], op, f"{op.defines}: ")
                return ()
            case AssertOp():
                left, right = symbols.number(op.left.value, op), symbols.number(op.right.value, op)
                if not HOLDS[cast(Relation, op.relation.data)](left, right):
                    raise InterpreterError(f"{op.text} does not hold: {left} {SIGNS[cast(Relation, op.relation.data)]} {right}", op)
                return ()
            case ValueOp():
                return (np.asarray(symbols.number(op.expression.value, op), np.int64),)

    return run
