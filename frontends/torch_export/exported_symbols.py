"""The symbols of an exported program: PyTorch's expressions over sizes as extents, with the ranges that the export found."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import reduce
from itertools import count
from math import prod
from typing import Any, cast

import sympy
import torch
from torch.export import ExportedProgram
from torch.utils._sympy import numbers
from xdsl.rewriter import Rewriter

from flambeau.dialects.flambeau.symbol_operations import AssertOp
from flambeau.dialects.ir.expressions import INFINITE, Bound, Symbol, of_symbol
from flambeau.dialects.ir.extents import extent, free_symbols, is_unknown, largest, maximum, minimum, symbol_of
from flambeau.dialects.ir.quotients import Quotient
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor, tensor_type
from flambeau.dialects.schema.row import SchemaOp

_INT_OO: Any = cast(Any, numbers).int_oo
_LARGEST = 2**62
"""The least bound that PyTorch uses for no bound."""
_ROUNDED: Mapping[str, Callable[[Quotient], int]] = {
    "CeilToInt": Quotient.ceil,
    "FloorToInt": Quotient.floor,
    "RoundToInt": Quotient.round,
    "TruncToInt": Quotient.trunc,
}
"""Conversions of a number computed in floating point to an integer."""


_NAME = re.compile(r"(?!(?:in|min|max|mod|floordiv|true|false|[su]\d+)$)[A-Za-z_]\w*", re.ASCII)
"""A name that a symbol may have in the IR, and that is not one of PyTorch's."""


class Symbols:
    """The symbols of one program, named after their `Dim` if known, else after PyTorch's symbol."""

    def __init__(self, program: ExportedProgram):
        constraints: Mapping[Any, Any] = cast(Any, program).range_constraints
        self._ranges = {key: found for key, found in constraints.items() if isinstance(key, sympy.Symbol)}
        self._derived = {key: found for key, found in constraints.items() if not isinstance(key, sympy.Symbol)}
        self._names = _names_of_dimensions(program)
        """The author's names of symbols, by PyTorch's names."""
        self._known: dict[str, Symbol] = {}
        self._equal: dict[str, int] = {}
        """The sizes that symbols are equated with, unknown to PyTorch."""
        self._met: dict[str, int] = {}
        """The symbols that have a value here, each with the number of the step that gave it."""
        self._step = 0
        self._own: set[str] = set()
        """The names of symbols that PyTorch does not have."""
        for size in _sizes_of_inputs(program):
            with suppress(TypeError):  # the import of the input's type reports the error
                self.extent(size)

    def extent(self, value: torch.SymInt | int) -> int:
        """Returns a size as a number or an extent. Raises TypeError for an expression without a form in the IR."""
        return value if isinstance(value, int) else self.of(cast(Any, value).node.expr)

    def shape(self, shape: torch.Size) -> tuple[int, ...]:
        """Returns a shape of numbers and extents. Raises TypeError."""
        return tuple([self.extent(size) for size in shape])

    @contextmanager
    def inside(self) -> Generator[None]:
        """Restricts symbols that are defined in the block to the block, because it may be part of a region that does not run."""
        before = dict(self._met)
        yield
        self._met = before

    def begin(self) -> None:
        """Starts the next step or input of the program."""
        self._step += 1

    def _has_value(self, value: int) -> bool:
        """Returns whether all symbols of a size have values before the current step."""
        return all(self._met.get(symbol.name, self._step) < self._step for symbol in free_symbols(value))

    def integer(self, value: torch.SymInt | int, name: str) -> tuple[int, int]:
        """Returns the symbol of an integer that data or the caller decides, and the extent that PyTorch equates it with from then on.

        The two differ where PyTorch knows the integer from a check, which need not come before it. Raises TypeError.

        Args:
            value: the integer in PyTorch.
            name: the name of a new symbol.
        """
        known = self.extent(value)
        if symbol_of(known) is not None and not self._has_value(known):
            return known, known
        own = self._new_symbol(name, -INFINITE, INFINITE)
        if self._has_value(known):
            return own, known
        # The known size contains a number that is computed later; the program checks the equality there.
        self._met = {symbol: step for symbol, step in self._met.items() if step < self._step}
        return own, own

    def own_sizes(self, op: SchemaOp, name: str) -> Sequence[AssertOp]:
        """Gives data-dependent sizes of results new symbols if PyTorch knows them from a check. Returns the assertions of that check."""
        found: list[AssertOp] = []
        for result, sizes in zip(op.results, op.inferred_shapes(), strict=True):
            shape = list(shape_of(result))
            for dim, (known, size) in enumerate(zip(shape, sizes, strict=False)):  # verification refuses a different number of sizes
                if is_unknown(size) and self._has_value(known):
                    most = [bound for bound in (largest(known), largest(size)) if bound is not None]
                    shape[dim] = self._new_symbol(name, 0, min(most, default=INFINITE))
                    found.append(AssertOp(shape[dim], "eq", known))
            if found:
                Rewriter.replace_value_with_new_type(result, tensor(element_of(result), shape, tensor_type(result).encoding))
        return found

    def _new_symbol(self, name: str, low: Bound, high: Bound) -> int:
        stem = name if _NAME.fullmatch(name) else f"_{name}" if _NAME.fullmatch(f"_{name}") else "n"
        taken = {*self._own, *self._names.values(), *map(str, self._ranges)}
        found = next(word for number in count() if (word := f"{stem}_{number}" if number else stem) not in taken)
        self._own.add(found)
        return extent(of_symbol(Symbol(found, low, high)))

    def renewed(self, kind: Tensor) -> Tensor:
        """Returns a type whose symbols are replaced by the sizes equated with them."""
        return tensor(element_of(kind), [self._renewed(size) for size in shape_of(kind)], kind.encoding)

    def equate(self, value: int, known: int) -> None:
        """Equates a symbol that PyTorch made for a new size with a known size, from now on everywhere."""
        symbol = symbol_of(value)
        if symbol is not None and not is_unknown(known):
            self._equal.setdefault(symbol.name, known)

    def _renewed(self, value: int) -> int:
        symbol = symbol_of(value)
        return value if symbol is None else self._equal.get(symbol.name, value)

    def _name(self, key: sympy.Symbol) -> str:
        return self._names.get(str(key), str(key))

    def _symbol(self, key: sympy.Symbol) -> Symbol:
        name = self._name(key)
        self._met.setdefault(name, self._step)
        if name not in self._known:
            found = self._ranges.get(key)
            low, high = (0, INFINITE) if found is None else (_bound(found.lower), _bound(found.upper))
            low = min([low, *self._lows(key)])
            self._known[name] = Symbol(name, low, high)
        return self._known[name]

    def _lows(self, key: sympy.Symbol) -> Iterator[int]:
        """Yields the least values of a symbol that ranges of dimensions derived from it admit; PyTorch starts the symbol itself at 2."""
        for expression, found in self._derived.items():
            factor = expression.coeff(key)
            rest = expression - factor * key
            if factor.is_Integer and factor > 0 and rest.is_Integer:
                yield -((int(rest) - int(found.lower)) // int(factor))

    def of(self, expression: sympy.Expr) -> int:
        """Returns a PyTorch expression as a number or an extent. Raises TypeError for one without a form in the IR."""
        match expression:
            case sympy.Integer():
                return int(expression)
            case sympy.Symbol() if (name := self._name(expression)) in self._equal:
                return self._equal[name]
            case sympy.Symbol() if not expression.is_integer:
                raise TypeError(f"{expression} is a float that data decides")
            case sympy.Symbol():
                return extent(of_symbol(self._symbol(expression)))
            case sympy.Add():
                return sum(self._arguments(expression))
            case sympy.Mul():
                return prod(self._arguments(expression))
            case sympy.Pow() if isinstance(expression.exp, sympy.Integer) and int(expression.exp) > 0:
                return prod([self.of(expression.base)] * int(expression.exp))
            case _:
                return self._of_function(expression)

    def _of_function(self, expression: sympy.Expr) -> int:
        if (name := type(expression).__name__) in _ROUNDED:
            try:
                return _ROUNDED[name](self._quotient(cast(sympy.Expr, expression.args[0])))
            except ValueError as error:
                raise TypeError(f"the size is computed in floating point: {error}") from error
        arguments = self._arguments(expression)
        match name:
            case "FloorDiv" | "CleanDiv":
                return arguments[0] // arguments[1]
            case "Mod" | "PythonMod":
                return arguments[0] % arguments[1]
            case "Max":
                return reduce(maximum, arguments)
            case "Min":
                return reduce(minimum, arguments)
            case "Identity":
                return arguments[0]
            case _:
                raise TypeError(f"the size {expression} is computed by {name}, which has no form here")

    def _quotient(self, expression: sympy.Expr) -> Quotient:
        """Returns a number computed in floating point as a fraction.

        Raises ValueError if it depends on rounding, TypeError if it has no form.
        """
        name, parts = type(expression).__name__, cast("Sequence[sympy.Expr]", expression.args)
        match expression:
            case sympy.Float():
                return Quotient.of(float(expression))
            case sympy.Rational() if not isinstance(expression, sympy.Integer):
                return Quotient.of(int(expression.p) / int(expression.q))
            case sympy.Mul():
                return reduce(operator.mul, map(self._quotient, parts))
            case sympy.Add():
                return reduce(operator.add, map(self._quotient, parts))
            case _ if name == "ToFloat":
                return self._quotient(parts[0])
            case _ if name in ("IntTrueDiv", "FloatTrueDiv"):
                return self._quotient(parts[0]) / self._quotient(parts[1])
            case _:
                return Quotient(self.of(expression))

    def _arguments(self, expression: sympy.Expr) -> Sequence[int]:
        return [self.of(cast(sympy.Expr, item)) for item in expression.args]


def _sizes_of_inputs(program: ExportedProgram) -> Iterator[torch.SymInt]:
    """Yields the dynamic sizes of the input tensors."""
    for node in program.graph.nodes:
        if node.op == "placeholder":
            yield from (size for size in getattr(node.meta.get("val"), "shape", ()) if isinstance(size, torch.SymInt))


def _names_of_dimensions(program: ExportedProgram) -> Mapping[str, str]:
    """Returns the names of `Dim`s by the symbols that PyTorch made for them; a `.pt2` file does not keep them."""
    environment = next((cast(Any, size).node.shape_env for size in _sizes_of_inputs(program)), None)
    given: Mapping[str, str] = getattr(environment, "source_name_to_debug_name", {})
    symbols: Mapping[str, Any] = getattr(environment, "source_to_var", {})
    # A `Dim` from which only others are derived, as 8 * Dim("frames"), is a source of its own.
    named = {str(symbols[name]): name for name in symbols if _NAME.fullmatch(name)}
    found = named | {str(symbols[source]): str(name) for source, name in given.items() if source in symbols and _NAME.fullmatch(str(name))}
    taken = {str(symbol) for symbol in (*symbols.values(), *cast(Any, program).range_constraints)}
    return {symbol: name for symbol, name in found.items() if name not in taken}


def _bound(value: Any) -> Bound:
    """Converts a bound of PyTorch to an integer or to ±INFINITE; PyTorch represents infinity by symbols and by large numbers."""
    if value in (_INT_OO, -_INT_OO) or abs(int(value)) >= _LARGEST:
        return INFINITE if value > 0 else -INFINITE
    return int(value)
