"""numpy as `np`, imported on first use, so that tools that only read IR start without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

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

__all__ = ["Array", "np"]
