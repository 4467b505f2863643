"""The operators that the backend takes: those of ONNX between integers, or of float16, within the limits of Qualcomm's HTP.

Source: the builders of operators in `backends/qualcomm` of ExecuTorch 1.5, under its BSD licence.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from xdsl.dialects.builtin import f16

from flambeau.backends.onnxruntime.members import narrowed
from flambeau.dialects.ir.tensor_types import ElementType, shape_of, ui8, ui16
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.normalized import windows_of

if TYPE_CHECKING:
    from flambeau.backends.qnn import QnnOptions

MOST_DIMENSIONS = 5
OPERATORS = (
    "abs add.Scalar add.Tensor amax amin avg_pool2d bmm cat clamp constant_pad_nd convolution div.Tensor elu exp expand_copy gelu "
    "hardsigmoid hardswish hardtanh layer_norm linear max_pool2d_with_indices maximum mean.dim minimum mm mul.Scalar mul.Tensor neg "
    "permute_copy pixel_shuffle relu rsqrt select_copy.int sigmoid silu slice_copy.Tensor _softmax split_with_sizes_copy sqrt "
    "squeeze_copy.dim squeeze_copy.dims stack sub.Tensor sum.dim_IntList tanh unsqueeze_copy upsample_bilinear2d.vec "
    "upsample_nearest2d.vec view_copy"
).split()
"""The operators with a builder in `backends/qualcomm/builders` of ExecuTorch that ONNX has here."""
ACTIVATIONS: dict[str, ElementType] = {"int8": ui8, "int16": ui16, "f16": f16}
"""The element types of activations, by the precisions."""


def _is_of_lines_or_images(op: SchemaOp) -> str | None:
    """Of lines or images."""
    rank = len(shape_of(op.operands[0])) - 2
    return None if rank in (1, 2) else f"it is of {rank} dimensions, and the compiler takes 1 and 2"


def _is_undilated(op: SchemaOp) -> str | None:
    """No dilation."""
    gaps = windows_of(op).dilation
    return None if set(gaps) == {1} else f"its windows have gaps (dilation {list(gaps)})"


_CHECKS = {"convolution": (_is_of_lines_or_images,), "max_pool2d_with_indices": (_is_undilated,)}


def table(options: QnnOptions) -> OperatorTable:
    """Returns what the backend takes in a precision."""
    return narrowed(OPERATORS, _CHECKS, MOST_DIMENSIONS, ACTIVATIONS[options.precision])
