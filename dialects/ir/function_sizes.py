"""The sizes in a function's types: layouts that fit their shapes, and one range for each symbol."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import cast

from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute
from xdsl.utils.exceptions import VerifyException

from flambeau.dialects.ir.expressions import Symbol
from flambeau.dialects.ir.extent_attribute import range_text
from flambeau.dialects.ir.extents import free_symbols, symbol_of
from flambeau.dialects.ir.layout_attribute import LayoutAttr
from flambeau.dialects.ir.tensor_types import Tensor, check_layout


def check_function_sizes(function: FuncOp) -> None:
    """Raises VerifyException for a layout of another shape, a size that may be negative, and a symbol with two ranges."""
    for kind in (*function.function_type.inputs, *function.function_type.outputs):
        if isinstance(kind, TensorType):
            try:
                check_layout(cast(Tensor, kind))
            except TypeError as error:
                raise VerifyException(f"func.func @{function.sym_name.data}: {error}") from error
    known: dict[str, Symbol] = {}
    for kind in _types_in(function):
        if not isinstance(kind, TensorType) or not isinstance(kind.encoding, LayoutAttr):
            continue
        for symbol in _symbols_of(kind.encoding):
            first = known.setdefault(symbol.name, symbol)
            if first != symbol:
                name = function.sym_name.data
                raise VerifyException(
                    f"{symbol.name} already has the range {range_text(first.range)} in @{name}, "
                    f"and cannot have {range_text(symbol.range)} too"
                )


def _types_in(function: FuncOp) -> Iterator[Attribute]:
    yield from function.function_type.inputs
    yield from function.function_type.outputs
    for op in function.walk():
        yield from op.result_types
        for region in op.regions:
            for block in region.blocks:
                yield from block.arg_types


@lru_cache(maxsize=4096)
def _symbols_of(layout: LayoutAttr) -> Sequence[Symbol]:
    """Returns the symbols in the sizes. Raises VerifyException for a size that may be negative."""
    symbols: list[Symbol] = []
    for dim, extent in enumerate(layout.sizes):
        if (symbol := symbol_of(extent)) is not None and symbol.low < 0:
            raise VerifyException(
                f"dimension {dim} is {symbol.name}, whose range {range_text(symbol.range)} has negative numbers; a size is 0 or more"
            )
        symbols += free_symbols(extent)
    return symbols
