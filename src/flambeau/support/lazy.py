"""numpy, imported on first use: tools that only read IR start without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    Array = np.ndarray[Any, np.dtype[Any]]
else:

    class _Numpy:
        """Stands for the module, but not in `sys.modules`: extensions in C import parts of numpy past a stand-in there."""

        def __getattr__(self, name: str) -> object:
            import numpy

            value = getattr(numpy, name)
            setattr(self, name, value)
            return value

    np = _Numpy()
    Array = object

__all__ = ["Array", "np"]
