"""The operators that the backend takes: those of TFLite between integers within the limits of Neutron.

Source: the converters of operators in `backends/nxp` of ExecuTorch 1.5, under the BSD licence of NXP; they name the limits of the target.
"""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING

from flambeau.backends.litert.members import OPERATORS, narrowed
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import OperatorTable
from flambeau.passes.delegation.normalized import windows_of

if TYPE_CHECKING:
    from flambeau.backends.neutron import NeutronOptions

MOST_IN_WINDOW = 4096
MOST_PRODUCTS = 65535
MOST_DIMENSIONS = 5
MOST_CLASSES, MOST_ROWS, MOST_IN_SOFTMAX = 2040, 4096, 524288


def _small_windows(op: SchemaOp) -> str | None:
    """Windows, steps and gaps of up to 4096 elements a side."""
    windows = windows_of(op)
    most = max(*windows.kernel, *windows.stride, *windows.dilation)
    return None if most <= MOST_IN_WINDOW else f"its windows, steps or gaps have {most} elements a side, and Neutron takes {MOST_IN_WINDOW}"


def _few_products(op: SchemaOp) -> str | None:
    """Up to 65535 products in a sum."""
    count = prod(shape_of(op.argument("weight"))[1:])
    return None if count <= MOST_PRODUCTS else f"its sums have {count} products, and Neutron takes {MOST_PRODUCTS}"


def _small_softmax(op: SchemaOp) -> str | None:
    """Up to 2040 classes, 4096 rows, and 524288 elements."""
    *rows, classes = shape_of(op.operands[0])
    if classes <= MOST_CLASSES and prod(rows) <= MOST_ROWS and prod(rows) * classes <= MOST_IN_SOFTMAX:
        return None
    return f"it has {prod(rows)} rows of {classes}, and Neutron takes {MOST_ROWS} of {MOST_CLASSES}, {MOST_IN_SOFTMAX} elements in all"


_CHECKS = {
    "convolution": (_small_windows, _few_products),
    "avg_pool2d": (_small_windows,),
    "max_pool2d_with_indices": (_small_windows,),
    "_softmax": (_small_softmax,),
}


def table(options: NeutronOptions) -> OperatorTable:
    """Returns what the backend takes."""
    return narrowed(OPERATORS, _CHECKS, MOST_DIMENSIONS)
