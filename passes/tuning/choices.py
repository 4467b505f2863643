"""The ways in which operators can be computed, and the names of operators for which they are chosen."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.fused.packing import PANEL
from flambeau.dialects.ir.tensor_types import is_static, shape_of

DEFAULT = "default"
"""What the compiler and the kernel choose by themselves."""
ROW_MAJOR = "row-major"
"""The operator stays as it is, between tensors in the order of their dimensions."""
TILES = {"direct": 0, "winograd-2": 2, "winograd-4": 4}
"""The sides of the tiles of Winograd's algorithm, by the names of choices; 0: none."""
CHOICES = (DEFAULT, *TILES, ROW_MAJOR)
"""Every choice. Each has the same meaning; they round in different ways."""


def convolution_name(
    x: SSAValue, weight: tuple[int, ...], stride: Sequence[int], padding: Sequence[int], dilation: Sequence[int], groups: int
) -> str | None:
    """Returns the name of a convolution with its shapes and parameters, `convolution 1x64x56x56, 64x64x3x3, …`.

    None for sizes that are known only at run time.
    """
    if not is_static(x):
        return None
    lists = ((shape_of(x), ""), (weight, ""), (stride, "stride "), (padding, "padding "), (dilation, "dilation "))
    return f"convolution {', '.join(word + _by(numbers) for numbers, word in lists)}, groups {groups}"


def candidates(weight: tuple[int, ...], stride: Sequence[int], dilation: Sequence[int], groups: int) -> tuple[str, ...]:
    """Returns the choices that make a difference for a convolution, the default first: Winograd's algorithm is not for all."""
    is_plain = weight[2:] == (3, 3) and set(stride) == set(dilation) == {1} and groups == 1
    return CHOICES if is_plain and weight[0] % PANEL == weight[1] % PANEL == 0 else (DEFAULT, ROW_MAJOR)


def _by(numbers: Sequence[int]) -> str:
    return "x".join(map(str, numbers))
