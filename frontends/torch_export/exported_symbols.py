"""The symbols of an exported program: PyTorch's expressions over sizes as extents, with the ranges that the export found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

import sympy
import torch
from torch.export import ExportedProgram
from torch.utils._sympy import numbers
from xdsl.rewriter import Rewriter

from flambeau.dialects.ir.expressions import INFINITE, Bound, Symbol, of_symbol
from flambeau.dialects.ir.extents import Extent, extent, is_unknown, largest, maximum, minimum
from flambeau.dialects.ir.tensor_types import element_of, is_static, shape_of, tensor, tensor_type
from flambeau.dialects.schema.inferred_types import UndecidedTypesError
from flambeau.dialects.schema.row import SchemaOp

_INT_OO: Any = cast(Any, numbers).int_oo
_LARGEST = 2**62
"""From this bound on, PyTorch means that there is none."""


class Symbols:
    """The symbols of one program, by PyTorch's names."""

    def __init__(self, program: ExportedProgram):
        constraints: Mapping[Any, Any] = cast(Any, program).range_constraints
        self._ranges = {key: found for key, found in constraints.items() if isinstance(key, sympy.Symbol)}
        self._known: dict[str, Symbol] = {}

    def extent(self, value: torch.SymInt | int) -> int:
        """A size as a number or an extent. Raises TypeError for an expression that has no form here."""
        return value if isinstance(value, int) else self.of(cast(Any, value).node.expr)

    def shape(self, shape: torch.Size) -> tuple[int, ...]:
        """A shape of numbers and extents. Raises TypeError."""
        return tuple([self.extent(size) for size in shape])

    def bound_results(self, op: SchemaOp) -> SchemaOp:
        """Gives the sizes of results that data decides the bounds that the operator's row knows, where PyTorch knows none."""
        if is_static(*op.results) or not type(op).has("infer"):
            return op
        try:
            inferred = op.infer_types(op.operands, op.properties)
        except UndecidedTypesError:
            return op
        for result, kind in zip(op.results, inferred, strict=True):
            for declared, found in zip(shape_of(result), shape_of(kind), strict=True):
                expression = declared.expression if isinstance(declared, Extent) else None
                symbol = expression.symbol if expression is not None else None
                bound = largest(found)
                if symbol is not None and symbol.high == INFINITE and is_unknown(found) and bound is not None:
                    self._known[symbol.name] = Symbol(symbol.name, symbol.low, bound)
            shape = [self._renewed(size) for size in shape_of(result)]
            Rewriter.replace_value_with_new_type(result, tensor(element_of(result), shape, tensor_type(result).encoding))
        return op

    def _renewed(self, value: int) -> int:
        if not isinstance(value, Extent) or value.expression is None:
            return value
        return extent(value.expression.replaced(lambda symbol: self._known.get(symbol.name, symbol)))

    def symbol(self, name: str, key: sympy.Symbol | None = None) -> Symbol:
        """The symbol of a name."""
        if name not in self._known:
            found = self._ranges.get(key) if key is not None else None
            low, high = (0, INFINITE) if found is None else (_bound(found.lower), _bound(found.upper))
            self._known[name] = Symbol(name, low, high)
        return self._known[name]

    def of(self, expression: sympy.Expr) -> int:
        """An expression of PyTorch's as a number or an extent. Raises TypeError for one that has no form here."""
        match expression:
            case sympy.Integer():
                return int(expression)
            case sympy.Symbol():
                return extent(of_symbol(self.symbol(str(expression), expression)))
            case sympy.Add():
                return sum(self._arguments(expression))
            case sympy.Mul():
                product = 1
                for item in self._arguments(expression):
                    product = product * item
                return product
            case sympy.Pow() if isinstance(expression.exp, sympy.Integer) and int(expression.exp) > 0:
                base, power = self.of(expression.base), 1
                for _ in range(int(expression.exp)):
                    power = power * base
                return power
            case _:
                return self._of_function(expression)

    def _of_function(self, expression: sympy.Expr) -> int:
        arguments = self._arguments(expression)
        match type(expression).__name__:
            case "FloorDiv" | "CleanDiv":
                return arguments[0] // arguments[1]
            case "Mod" | "PythonMod":
                return arguments[0] % arguments[1]
            case "Max":
                return _folded(maximum, arguments)
            case "Min":
                return _folded(minimum, arguments)
            case "Identity":
                return arguments[0]
            case name:
                raise TypeError(f"the size {expression} is computed by {name}, which has no form here")

    def _arguments(self, expression: sympy.Expr) -> Sequence[int]:
        return [self.of(cast(sympy.Expr, item)) for item in expression.args]


def _folded(function: Any, values: Sequence[int]) -> int:
    result = values[0]
    for value in values[1:]:
        result = function(result, value)
    return result


def _bound(value: Any) -> Bound:
    """A bound of PyTorch's, which has names for infinity and numbers that stand for it."""
    if value in (_INT_OO, -_INT_OO) or abs(int(value)) >= _LARGEST:
        return INFINITE if value > 0 else -INFINITE
    return int(value)
