"""Functions of numbers that are not known before the run, between integers: normalised by their highest bit, looked up in a table of int16.

A table of int16 gives 22 bits: FULL stands for 1.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import i16, i32
from xdsl.ir import SSAValue

from flambeau.backends.tosa.converters.building import constant, rescale
from flambeau.backends.tosa.dialect import elements as e
from flambeau.backends.tosa.dialect.bits import ClzOp, LogicalLeftShiftOp
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import Array, np

LARGEST = 2**15 - 1
"""The greatest entry of a table."""
FULL = LARGEST << 7
"""The result for an entry of LARGEST."""
EXACT_FULL = (LARGEST - 127) << 7
"""The greatest number that every exact table can give."""


def number(constants: ModuleConstants, value: int, like: SSAValue) -> SSAValue:
    """Returns an int32 as a constant of one entry, with as many dimensions as another value has."""
    return constant(constants, "number", np.full((1,) * len(shape_of(like)), value, np.int32), i32)


def added(x: SSAValue, value: int, constants: ModuleConstants) -> SSAValue:
    """Returns integers plus a number."""
    return e.BINARY["add"](x, number(constants, value, x)).result if value else x


def exact_table(values: Array) -> tuple[int, ...]:
    """Returns a table that gives, for -32767 + 256 * i, number i of up to 256 between 0 and EXACT_FULL.

    One step behind an entry, the result is 127 times the entry plus the one after it: two entries hold 22 bits.
    """
    high, low = values >> 7, values & 127
    pairs = np.stack([high, high + low], 1).reshape(-1)
    assert pairs.max() <= LARGEST
    return tuple(int(item) for item in np.pad(pairs, (0, 513 - len(pairs)), mode="edge"))


def table_between(function: Callable[[Array], Array], low: float, high: float) -> tuple[int, ...]:
    """Returns a table of a function whose values are between 0 and 1: that of `low` for -32768, of `high` for 32768."""
    return tuple(int(item) for item in np.rint(function(np.linspace(low, high, 513)) * LARGEST))


def normalized(x: SSAValue, constants: ModuleConstants) -> tuple[SSAValue, SSAValue]:
    """Returns positive integers times a power of two, from 2 ** 30 on, and its exponent."""
    exponent = added(ClzOp(x).result, -1, constants)
    return LogicalLeftShiftOp(x, exponent).result, exponent


def looked_up(mantissa: SSAValue, table: tuple[int, ...], constants: ModuleConstants, bits: int = 30) -> SSAValue:
    """Returns what a table gives for numbers from 2 ** bits to 2 ** 31; its first entry is for the least, the last for the greatest."""
    low, high = 2**bits, 2**31
    centred = added(mantissa, -(low + high) // 2, constants)
    return e.TableOp(rescale(centred, 2**16 / (high - low), 0, 0, i16), table).result
