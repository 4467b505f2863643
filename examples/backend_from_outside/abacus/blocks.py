"""Block fixed-point numbers, the numbers of the device: a tensor is an array of 24-bit integers times one common power of two.

The power is as small as the largest number of the tensor allows, so a tensor of float32 numbers has one form as a block, and each block
has numbers that float32 holds exactly: rows take and give float32. `abacus.c` computes the same, number for number.
"""

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float32]
Whole: TypeAlias = NDArray[np.int64]

BITS = 24
LEAST, MOST = -149, 103
"""The powers of two that a block may have: its numbers are multiples of 2^-149, the least float32, below 2^127."""
GUARD = 30
"""The bits that a sum has below those of the larger block."""


def rounded(numbers: Whole, shift: int) -> Whole:
    """Returns the integers divided by 2^shift and rounded, with halves away from zero; a negative shift multiplies."""
    if shift <= 0:
        return numbers << -shift
    if shift > 62:
        return np.zeros_like(numbers)
    return np.sign(numbers) * ((np.abs(numbers) + (1 << (shift - 1))) >> shift)


def block(numbers: Floats) -> tuple[Whole, int]:
    """Returns the integers and the power of two of a tensor. Raises ValueError if the tensor contains NaN or infinity."""
    if not np.isfinite(numbers).all():
        raise ValueError("the device has no infinities and no NaN")
    largest = np.abs(numbers).max(initial=0)
    power = max(int(np.frexp(largest)[1]) - BITS, LEAST) if largest else LEAST
    scaled = np.ldexp(numbers.astype(np.float64), -power)
    return np.asarray(np.trunc(scaled + np.copysign(0.5, scaled))).astype(np.int64), power


def numbers(whole: Whole, power: int) -> Floats:
    """Returns the result `whole` times 2^power, rounded to a block. Raises ValueError for a number of 2^127 or more."""
    largest = int(np.abs(whole).max(initial=0))
    shift = max(largest.bit_length() - BITS, LEAST - power) if largest else 0
    if shift > 0 and int(rounded(np.asarray(largest), shift)).bit_length() > BITS:
        shift += 1
    if largest and power + shift > MOST:
        raise ValueError("a result is beyond the device's numbers, which are below 2^127")
    result: Any = np.ldexp(rounded(whole, shift).astype(np.float64), power + shift)
    return np.asarray(result, np.float32)


def aligned(*tensors: Floats) -> tuple[list[Whole], int]:
    """Returns tensors as whole numbers times the same power of two."""
    blocks = [block(tensor) for tensor in tensors]
    power = max(power for _, power in blocks) - GUARD
    return [rounded(whole, power - own) for whole, own in blocks], power
