"""Threads that help the one that executes a method."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from flambeau.runtime.binding.arrays import aligned_bytes
from flambeau.runtime.binding.library import FlambeauError, Status, library, whole_number

if TYPE_CHECKING:
    from flambeau.runtime.binding.arrays import Array

MOST_THREADS = 1024
_START = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint32)
_SIZE = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_uint32)
_STOP = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def _stop(stop: Callable[[int | None], None], handle: int | None, memory: Array) -> None:
    """Ends threads, whose memory stays until then."""
    stop(handle)
    del memory


class Threads:
    """A pool of the C library, which ends with this object; one thread is no pool.

    Attributes:
        count: the threads that compute, the calling one among them.
        handle: the address of the `fl_threads`; None for one thread.
    """

    def __init__(self, count: int):
        """Starts `count` - 1 threads.

        Raises:
            ValueError: `count` is no number from 1 to 1024.
            FlambeauError: the C library was built without threads, or the system gives fewer of them.
        """
        self.count = whole_number(count, 1, MOST_THREADS, "a number of threads")
        self.handle: int | None = None
        if self.count == 1:
            return
        loaded = library()
        if not hasattr(loaded, "fl_threads_start"):
            raise FlambeauError(Status.NOT_SUPPORTED, "the C library was built for a system without POSIX threads; it runs one thread")
        memory = aligned_bytes(_SIZE(("fl_threads_size", loaded))(self.count))
        self.handle = _START(("fl_threads_start", loaded))(memory.ctypes.data, memory.nbytes, self.count)
        weakref.finalize(self, _stop, _STOP(("fl_threads_stop", loaded)), self.handle, memory)
        started = ctypes.c_uint32.from_address(self.handle or 0).value
        if started < self.count:
            text = f"the system gives this process {started} of {self.count} threads; limits are those of `ulimit -u` and of its container"
            raise FlambeauError(Status.OUT_OF_RESOURCES, text)
