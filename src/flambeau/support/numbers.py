"""Python numbers as arrays of a dtype."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau.support.lazy import Array, np

if TYPE_CHECKING:
    from typing import Any


def number_as_array(value: float, dtype: np.dtype[Any]) -> Array:
    """Returns a number as a 0-d array of `dtype`, rounding floats; in numpy's default dtype if `dtype` cannot hold the number."""
    try:
        array = np.asarray(value).astype(dtype)
    except OverflowError:
        return np.asarray(value)
    is_held = array.item() == value or (isinstance(value, float) and dtype.kind not in "biu")
    return array if is_held else np.asarray(value)
