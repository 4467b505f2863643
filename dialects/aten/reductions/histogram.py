"""Histograms, with the edges of their bins."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.aten.library.operands import as_operand, number_for, to_element
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.extents import exceeds
from flambeau.dialects.ir.tensor_types import Tensor, element_of, is_empty, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array

Pair = tuple[Array, Array]
SSAPair = tuple[SSAValue, SSAValue]


class HistogramOp(SchemaOp):
    """The number of elements in each bin, or the sum of their weights, and the edges of the bins; `density` divides by total and width.

    The last bin includes its upper edge.
    """

    takes = frozenset({f32, f64})

    @staticmethod
    def types(x: Tensor, bins: int, weight: Tensor | None) -> tuple[Tensor, Tensor]:
        """Returns the types of the results. Raises ValueError, TypeError."""
        if exceeds(1, bins):
            raise ValueError(f"at least one bin is needed, got {bins}")
        require_same_element(x, weight)
        if weight is not None and shape_of(weight) != shape_of(x):
            raise ValueError(f"weights {list(shape_of(weight))} must have the shape {list(shape_of(x))} of the tensor")
        return tensor(element_of(x), (bins,)), tensor(element_of(x), (bins + 1,))

    @staticmethod
    def counted(x: Array, edges: Array, weight: Array | None, density: bool) -> Pair:
        """Returns the histogram of sorted edges, and the edges."""
        x = x.reshape(-1)
        inside = (x >= edges[0]) & (x <= edges[-1])
        places = np.minimum(np.searchsorted(edges, x[inside], side="right") - 1, len(edges) - 2)
        found = np.zeros(len(edges) - 1, x.dtype)
        np.add.at(found, places, 1 if weight is None else weight.reshape(-1)[inside])
        with np.errstate(all="ignore"):
            return found / found.sum() / np.diff(edges) if density else found, edges

    @staticmethod
    def built(x: SSAValue, edges: SSAValue, weight: SSAValue | None, density: bool) -> SSAPair:
        """Returns the same in operations."""
        element, bins, count = element_of(x), shape_of(edges)[0] - 1, math.prod(shape_of(x))
        x = view(x, (count,))
        first, last = aten.amin(edges), aten.amax(edges)
        inside = aten.logical_and(aten.ge.Tensor(x, first), aten.le.Tensor(x, last))
        places = aten.sub.Scalar(aten.searchsorted.Tensor(edges, x, right=True), 1)
        places = aten.clamp(aten.where.self(aten.lt.Tensor(x, last), places, aten.sub.Scalar(places, 1)), 0)
        amount = aten.full((count,), 1, element) if weight is None else view(weight, (count,))
        amount = aten.where.self(inside, amount, as_operand(0, element))
        found = aten.scatter_add(aten.full((bins,), 0, element), 0, places, amount)
        if density:
            found = aten.div.Tensor(aten.div.Tensor(found, aten.sum.dim_IntList(found, (0,), True)), aten.diff(edges))
        return found, aten.clone(edges)


@aten("histogram.bins_tensor(Tensor self, Tensor bins, *, Tensor? weight=None, bool density=False) -> (Tensor hist, Tensor bin_edges)")
class HistogramBinsTensorOp(HistogramOp):
    """The histogram over bins between the given sorted edges, and these edges."""

    @staticmethod
    def infer(x: Tensor, /, bins: Tensor, weight: Tensor | None) -> tuple[Tensor, Tensor]:
        require_same_element(x, bins)
        if len(shape_of(bins)) != 1:
            raise ValueError(f"the edges of bins must have one dimension, got {list(shape_of(bins))}")
        return HistogramOp.types(x, shape_of(bins)[0] - 1, weight)

    @staticmethod
    def numpy(x: Array, /, bins: Array, weight: Array | None, density: bool) -> Pair:
        return HistogramOp.counted(x, bins, weight, density)

    @staticmethod
    def decompose(x: SSAValue, /, bins: SSAValue, weight: SSAValue | None, density: bool) -> SSAPair:
        return HistogramOp.built(x, bins, weight, density)


@aten(
    "histogram.bin_ct(Tensor self, int bins=100, *, float[]? range=None, Tensor? weight=None, bool density=False) -> "
    "(Tensor hist, Tensor bin_edges)"
)
class HistogramBinCtOp(HistogramOp):
    """The histogram over `bins` equal bins in `range`, or between the smallest and the largest element, and their edges."""

    @staticmethod
    def infer(x: Tensor, /, bins: int, range_: tuple[float, ...] | None, weight: Tensor | None) -> tuple[Tensor, Tensor]:
        if range_ is not None and (len(range_) != 2 or not -math.inf < range_[0] <= range_[1] < math.inf):
            raise ValueError(f"the range must be two finite numbers in order, got {list(range_)}")
        return HistogramOp.types(x, bins, weight)

    @staticmethod
    def ends(range_: tuple[float, ...] | None, shape: tuple[int, ...]) -> tuple[float, float] | None:
        """Returns the range where it is known: of no elements from 0 to 1, and one number is widened by 0.5 on both sides."""
        low, high = range_ if range_ is not None else (0.0, 1.0)
        if range_ is None and not is_empty(shape):
            return None
        return (low, high) if low < high else (low - 0.5, high + 0.5)

    @staticmethod
    def numpy(x: Array, /, bins: int, range_: tuple[float, ...] | None, weight: Array | None, density: bool) -> Pair:
        low, high = HistogramBinCtOp.ends(range_, x.shape) or (x.min(), x.max())
        if not (math.isfinite(low) and math.isfinite(high)):
            raise ValueError(f"the range [{low}, {high}] of a histogram must be finite")
        low, high = (np.asarray(bound, x.dtype) for bound in ((low, high) if low < high else (low - 0.5, high + 0.5)))
        places = np.arange(bins + 1).astype(x.dtype)
        step = (high - low) / x.dtype.type(bins)
        edges = np.where(places < (bins + 1) // 2, low + step * places, high - step * (x.dtype.type(bins) - places))
        return HistogramOp.counted(x, edges, weight, density)

    @staticmethod
    def decompose(x: SSAValue, /, bins: int, range_: tuple[float, ...] | None, weight: SSAValue | None, density: bool) -> SSAPair:
        element = element_of(x)
        known = HistogramBinCtOp.ends(range_, shape_of(x))
        if known is None:
            low, high = aten.amin(x), aten.amax(x)
            single = aten.eq.Tensor(low, high)
            low, high = (aten.where.self(single, aten.add.Scalar(bound, by), bound) for bound, by in ((low, -0.5), (high, 0.5)))
        else:
            low, high = (number_for(bound, element) for bound in known)
        step = aten.div.Scalar(aten.sub.Tensor(high, low), bins)
        numbers = aten.arange.start_step(0, bins + 1)
        places = to_element(numbers, element)
        rest = to_element(aten.sub.Tensor(as_operand(bins, i64), numbers), element)
        up, down = aten.add.Tensor(aten.mul.Tensor(step, places), low), aten.sub.Tensor(high, aten.mul.Tensor(step, rest))
        return HistogramOp.built(x, aten.where.self(aten.lt.Scalar(numbers, (bins + 1) // 2), up, down), weight, density)
