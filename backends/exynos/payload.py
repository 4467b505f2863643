"""What the backend takes, and its payloads.

Source: the builders of operators in `backends/samsung` of ExecuTorch 1.5, under its BSD licence, whose payload is what Samsung's compiler
gives, without a frame. In its place stands a TFLite model. That tensors have up to 4 dimensions, and images are one, is this backend's own
choice, as the builders state no limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau.backends.litert.members import OPERATORS, framed, is_not_transposed, narrowed, unframed
from flambeau.passes.analysis.operator_table import OperatorTable

if TYPE_CHECKING:
    from flambeau.backends.exynos import ExynosOptions

MOST_DIMENSIONS = 4
MORE = (
    "amax bmm embedding exp expand_copy flip gelu hardsigmoid hardswish leaky_relu max.dim neg pixel_shuffle pixel_unshuffle prelu "
    "select_copy.int silu squeeze_copy.dim squeeze_copy.dims unsqueeze_copy upsample_bilinear2d.vec upsample_nearest2d.vec"
).split()
"""The other operators with a builder in `backends/samsung/builders` of ExecuTorch that TFLite has between integers here."""


def table(options: ExynosOptions) -> OperatorTable:
    """Returns what the backend takes."""
    return narrowed((*OPERATORS, *MORE), {"convolution": (is_not_transposed,)}, MOST_DIMENSIONS)


encode = framed(lambda model, inputs, outputs: model)
decode = unframed("EnnBackend", lambda data: data)
