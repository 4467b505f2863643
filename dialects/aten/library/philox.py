"""The random numbers of programs: Philox 4x32-10, with the same sequence as in the C runtime.

Words come in blocks of four: the cipher of a counter, with the seed as its key. Every operator that draws starts with a new block.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from flambeau.dialects.ir.tensor_types import format_of
from flambeau.support.lazy import Array, np

_MULTIPLIERS = (0xD2511F53, 0xCD9E8D57)
_WEYL = (0x9E3779B9, 0xBB67AE85)


def _block_words(seed: int, first: int, count: int) -> Array:
    """Returns the words of `count` blocks from a counter on."""
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    counters = np.arange(first, first + count, dtype=np.uint64)
    x = [counters & low, counters >> high, np.zeros_like(counters), np.zeros_like(counters)]
    for step in range(10):
        keys = [np.uint64((part + step * weyl) & 0xFFFFFFFF) for part, weyl in zip((seed & 0xFFFFFFFF, seed >> 32), _WEYL, strict=True)]
        a, b = (np.uint64(factor) * word for factor, word in zip(_MULTIPLIERS, (x[0], x[2]), strict=True))
        x = [(b >> high) ^ x[1] ^ keys[0], b & low, (a >> high) ^ x[3] ^ keys[1], a & low]
    return np.stack(x, axis=1).reshape(-1)


@dataclass
class RandomStream:
    """The state of a method's random numbers: the seed, and the number of blocks that were drawn."""

    seed: int = 0
    counter: int = 0
    """The blocks that were drawn."""

    def words(self, count: int) -> Array:
        """Returns the next words."""
        blocks = -(-count // 4)
        found = _block_words(self.seed, self.counter, blocks)
        self.counter += blocks
        return found[:count]

    def uniform(self, size: Sequence[int], element: Attribute) -> Array:
        """Numbers from 0 up to but without 1, as double precision, with as many bits as an element type holds."""
        count = int(np.prod(tuple(size), dtype=np.int64))
        if element == f64:
            high, low = self.words(2 * count).reshape(-1, 2).T
            found = ((high >> np.uint64(5)) * 2.0**26 + (low >> np.uint64(6))) * 2.0**-53
        else:
            digits = format_of(element).fraction + 1
            found = (self.words(count) >> np.uint64(32 - digits)) * 2.0**-digits
        return found.reshape(tuple(size))

    def normal(self, size: Sequence[int], element: Attribute) -> Array:
        """Returns normally distributed numbers of mean 0 and variance 1, as double precision: Box and Muller's pairs."""
        count = int(np.prod(tuple(size), dtype=np.int64))
        pairs = self.uniform((-(-count // 2), 2), f64 if element == f64 else f32)
        radius, angle = np.sqrt(-2 * np.log(1 - pairs[:, 0])), 6.283185307179586 * pairs[:, 1]
        return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1).reshape(-1)[:count].reshape(tuple(size))


_STREAM: ContextVar[RandomStream | None] = ContextVar("flambeau_random", default=None)


@contextmanager
def drawing(stream: RandomStream) -> Generator[None, None, None]:
    """Makes draws within the block use `stream`."""
    token = _STREAM.set(stream)
    try:
        yield
    finally:
        _STREAM.reset(token)


def stream() -> RandomStream:
    """Returns the stream of the running program; a new stream if no program runs."""
    return _STREAM.get() or RandomStream()
