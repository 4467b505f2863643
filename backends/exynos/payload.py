"""What the backend takes, and its payloads.

Source: the builders of operators in `backends/samsung` of ExecuTorch 1.5, under its BSD licence, whose payload is what Samsung's compiler
gives, without a frame. In its place stands a TFLite model. That tensors have up to 4 dimensions, and images are one, is this backend's own
choice, as the builders state no limits.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from flambeau.backends.litert.members import framed, narrowed, unframed
from flambeau.passes.analysis.operator_table import OperatorTable

if TYPE_CHECKING:
    from flambeau.backends.exynos import ExynosOptions

MOST_DIMENSIONS = 4
OPERATORS = (
    "add.Tensor avg_pool2d cat clamp constant_pad_nd convolution hardtanh linear max_pool2d_with_indices mean.dim mul.Tensor permute_copy "
    "relu sigmoid slice_copy.Tensor _softmax sub.Tensor tanh view_copy"
).split()
"""Those of the builders that TFLite has between integers here."""


def table(options: ExynosOptions) -> OperatorTable:
    """Returns what the backend takes."""
    return narrowed(OPERATORS, {}, MOST_DIMENSIONS)


encode = framed(lambda model, inputs, outputs: model)
decode = unframed("EnnBackend", lambda data: data)
