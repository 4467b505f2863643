"""The memory of a process that runs many tests."""

import ctypes
import gc
import sys
from typing import Any

_CACHES = {"torch._subclasses.fake_tensor": "FakeTensorMode", "executorch.exir.backend.utils": "is_same_node"}
"""Caches of the modules that are compiled, by where they are."""


def free_memory() -> None:
    """Frees what the tests before left. IR refers to itself; PyTorch and ExecuTorch keep the modules that they compiled."""
    for place, name in _CACHES.items():
        if module := sys.modules.get(place):
            cache: Any = getattr(module, name)
            cache.cache_clear()
    gc.collect()
    # What is still there, such as modules and tests, is not looked at again: to do so would take two seconds after each file.
    gc.freeze()
    if trim := getattr(ctypes.CDLL(None), "malloc_trim", None):
        trim(0)  # glibc gives back nothing below what is still used
