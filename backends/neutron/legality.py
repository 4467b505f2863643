"""The operators that the backend takes: those of TFLite between integers within the limits of Neutron.

Source: the converters of operators in `backends/nxp` of ExecuTorch 1.5, under the BSD licence of NXP; they name the limits of the target.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from flambeau.backends.litert.members import OPERATORS, narrowed
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.quantized_decomposed.quantize import DequantizePerTensorOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.normalized import windows_of

if TYPE_CHECKING:
    from flambeau.backends.neutron import NeutronOptions

MOST_IN_WINDOW = 4096
MOST_PRODUCTS = 65535
MOST_DIMENSIONS = 5
MOST_STEPS_BACK = 2
"""The largest step of a transposed convolution."""
FACTORS = 1, 2, 4, 8
"""How much larger an image may become."""
MORE = ("abs amax amin bmm clone exp hardswish leaky_relu mm neg prelu upsample_bilinear2d.vec upsample_nearest2d.vec").split()
"""The other operators with a converter in `backends/nxp` of ExecuTorch that TFLite has between integers here."""
MOST_CLASSES, MOST_ROWS, MOST_IN_SOFTMAX = 2040, 4096, 524288


def _small_windows(op: SchemaOp) -> str | None:
    """Windows, steps and gaps of up to 4096 elements a side."""
    windows = windows_of(op)
    most = max(*windows.kernel, *windows.stride, *windows.dilation)
    return None if most <= MOST_IN_WINDOW else f"its windows, steps or gaps have {most} elements a side, and Neutron takes {MOST_IN_WINDOW}"


def _few_products(op: SchemaOp) -> str | None:
    """Up to 65535 products in a sum."""
    inputs, *others = shape_of(op.argument("weight"))
    count = prod(others[1:]) * (inputs if op.argument("transposed") else others[0])
    return None if count <= MOST_PRODUCTS else f"its sums have {count} products, and Neutron takes {MOST_PRODUCTS}"


def _small_softmax(op: SchemaOp) -> str | None:
    """Up to 2040 classes, 4096 rows, and 524288 elements."""
    *rows, classes = shape_of(op.operands[0])
    if classes <= MOST_CLASSES and prod(rows) <= MOST_ROWS and prod(rows) * classes <= MOST_IN_SOFTMAX:
        return None
    return f"it has {prod(rows)} rows of {classes}, and Neutron takes {MOST_ROWS} of {MOST_CLASSES}, {MOST_IN_SOFTMAX} elements in all"


def _undoes_small_steps(op: SchemaOp) -> str | None:
    """Transposed convolutions without groups, in steps of up to 2 and no larger than the window, with less padding than that."""
    if not op.argument("transposed"):
        return None
    windows, groups = windows_of(op), op.argument("groups")
    if groups > 1:
        return f"it is transposed and has {groups} groups"
    for window, step, padding in zip(windows.kernel, windows.stride, windows.padding, strict=True):
        if step > min(window, MOST_STEPS_BACK) or padding >= window:
            return (
                f"it is transposed, with windows {list(windows.kernel)}, steps {list(windows.stride)} and padding {list(windows.padding)}"
            )
    return None


def _grows_by_known_factors(op: SchemaOp) -> str | None:
    """Images 1, 2, 4 or 8 times as tall and as wide; less one, where corners are aligned."""
    less = int(op.schema.base == "upsample_bilinear2d" and op.argument("align_corners"))
    for old, new in zip(shape_of(op.operands[0])[2:], shape_of(op.result)[2:], strict=True):
        if (new - less) not in [(old - less) * factor for factor in FACTORS] or old == less:
            return f"it makes {new} pixels of {old}, and Neutron takes {', '.join(map(str, FACTORS))} times as many"
    return None


def _is_around_zero(op: SchemaOp) -> str | None:
    """Of matrices with the zero point 0."""
    for value in op.operands:
        source = value.owner
        if isinstance(source, DequantizePerTensorOp) and (zero_point := source.argument("zero_point")):
            return f"a matrix has the zero point {zero_point}, and Neutron takes 0"
    return None


_CHECKS = {
    "convolution": (_small_windows, _few_products, _undoes_small_steps),
    **dict.fromkeys(("upsample_nearest2d.vec", "upsample_bilinear2d.vec"), (_grows_by_known_factors,)),
    **dict.fromkeys(("bmm", "mm"), (_is_around_zero,)),
    "avg_pool2d": (_small_windows,),
    "max_pool2d_with_indices": (_small_windows,),
    "_softmax": (_small_softmax,),
}


def table(options: NeutronOptions) -> OperatorTable:
    """Returns what the backend takes."""
    return narrowed((*OPERATORS, *MORE), _CHECKS, MOST_DIMENSIONS)
