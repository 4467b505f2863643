"""Imports on first use: numpy as `np`, so that tools that only read IR start without it, and functions by module and name."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]
else:

    class _Numpy:
        """A stand-in for the module. It is not in `sys.modules`, because C extensions import parts of numpy from there."""

        def __getattr__(self, name: str) -> object:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()
    Array = object


def later(place: str) -> Callable[..., Any]:
    """Returns a function that imports and calls `module:name`, so that a list of functions imports none of their modules."""

    def call(*arguments: Any) -> Any:
        module, _, name = place.partition(":")
        return getattr(importlib.import_module(module), name)(*arguments)

    return call


__all__ = ["Array", "later", "np"]
