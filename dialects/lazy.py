"""numpy, imported on first use: tools that only read IR start without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]
else:
    import importlib.util
    import sys

    def _lazy(name: str) -> object:
        if name in sys.modules:
            return sys.modules[name]
        spec = importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            raise ImportError(f"{name} is not installed")
        spec.loader = importlib.util.LazyLoader(spec.loader)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module

    np = _lazy("numpy")
    Array = object

__all__ = ["Array", "np"]
