"""Statistics that are composed of reductions: sums and means without NaN, counts, differences, histograms."""

from __future__ import annotations

from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, widened
from flambeau.dialects.aten.library.operands import number_for, to_element
from flambeau.dialects.aten.movement.concat import CatOp
from flambeau.dialects.aten.reductions.reduction import AccumulationOp, Dims, ExtremeOp, FloatReductionOp, SumDimIntListOp
from flambeau.dialects.ir.extents import is_known, maximum
from flambeau.dialects.ir.tensor_types import Tensor, dtype_of, element_of, normalize_dim, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, chosen_element, reduced_dims, reduced_shape, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


@aten("count_nonzero.dim_IntList(Tensor self, int[] dim) -> Tensor")
@aten("count_nonzero(Tensor self, int? dim=None) -> Tensor")
class CountNonzeroOp(SchemaOp):
    """The number of elements that differ from 0 over the given dimensions, or over all if none is given."""

    @staticmethod
    def infer(x: Tensor, /, dim: Dims) -> Tensor:
        return tensor(i64, reduced_shape(shape_of(x), dim, False))

    @staticmethod
    def numpy(x: Array, /, dim: Dims) -> Array:
        return np.asarray(np.sum(x != 0, axis=reduced_dims(dim, x.ndim), dtype=np.int64))

    @staticmethod
    def decompose(x: SSAValue, /, dim: Dims) -> SSAValue:
        return aten.sum.dim_IntList(aten.ne.Scalar(x, 0), reduced_dims(dim, len(shape_of(x))))


@aten("nansum(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
class NansumOp(AccumulationOp):
    """The sum of the elements that are not NaN."""

    @staticmethod
    def numpy(x: Array, /, dim: Dims, keepdim: bool, dtype: Attribute | None) -> Array:
        return SumDimIntListOp.numpy(np.where(x != x, np.zeros((), x.dtype), x), dim, keepdim, dtype)

    @staticmethod
    def decompose(x: SSAValue, /, dim: Dims, keepdim: bool, dtype: Attribute | None) -> SSAValue:
        return aten.sum.dim_IntList(without_nan(x), dim, keepdim, dtype)


def without_nan(x: SSAValue) -> SSAValue:
    """Returns 0 in place of NaN."""
    return aten.masked_fill.Scalar(x, aten.isnan(x), 0) if dtype_of(element_of(x)).category == 2 else x


@aten("nanmean(Tensor self, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None) -> Tensor")
class NanmeanOp(FloatReductionOp):
    """The mean of the elements that are not NaN."""

    takes = FLOATS

    @staticmethod
    def numpy(x: Array, /, dim: Dims, keepdim: bool, dtype: Attribute | None) -> Array:
        x = cast_to(x, chosen_element(dtype, element_of_array(x)))
        valid = x == x
        axes = reduced_dims(dim, x.ndim)
        total = np.sum(np.where(valid, widened(x), 0), axis=axes, keepdims=keepdim)
        return (total / np.sum(valid, axis=axes, keepdims=keepdim)).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, /, dim: Dims, keepdim: bool, dtype: Attribute | None) -> SSAValue:
        x = to_element(x, chosen_element(dtype, element_of(x)))
        count = aten.sum.dim_IntList(aten.logical_not(aten.isnan(x)), dim, keepdim)
        return aten.div.Tensor(aten.sum.dim_IntList(without_nan(x), dim, keepdim), to_element(count, element_of(x)))


@aten("diff(Tensor self, int n=1, int dim=-1, Tensor? prepend=None, Tensor? append=None) -> Tensor")
class DiffOp(SchemaOp):
    """The n-th differences of neighbours along `dim`, of the tensor between `prepend` and `append`; for bools, whether they differ."""

    @staticmethod
    def infer(x: Tensor, /, n: int, dim: int, prepend: Tensor | None, append: Tensor | None) -> Tensor:
        if n < 0 or not shape_of(x):
            raise ValueError(f"differences of order {n} of a tensor of shape {list(shape_of(x))} are not defined")
        if n == 0:
            return x
        parts = [part for part in (prepend, x, append) if part is not None]
        joined = CatOp.infer(parts, dim)
        shape = list(shape_of(joined))
        axis = normalize_dim(dim, len(shape))
        shape[axis] = maximum(0, shape[axis] - n)
        return tensor(element_of(joined), shape)

    @staticmethod
    def numpy(x: Array, /, n: int, dim: int, prepend: Array | None, append: Array | None) -> Array:
        if n == 0:
            return x
        joined = CatOp.numpy([part for part in (prepend, x, append) if part is not None], dim)
        return np.diff(joined, min(n, joined.shape[dim]), dim)

    @staticmethod
    def decompose(x: SSAValue, /, n: int, dim: int, prepend: SSAValue | None, append: SSAValue | None) -> SSAValue:
        if n == 0:
            return x
        parts = [part for part in (prepend, x, append) if part is not None]
        value = aten.cat(parts, dim) if len(parts) > 1 else x
        extent = shape_of(value)[dim]
        difference = aten.logical_xor if dtype_of(element_of(value)).category == 0 else aten.sub.Tensor
        for _ in range(n if not is_known(extent) else min(n, extent)):
            extent = maximum(extent - 1, 0)
            value = difference(aten.slice.Tensor(value, dim, 1), aten.slice.Tensor(value, dim, 0, extent))
        return value


@aten("histc(Tensor self, int bins=100, Scalar min=0, Scalar max=0) -> Tensor")
class HistcOp(SchemaOp):
    """The number of elements in each of `bins` equal parts of [min, max], or of the range of the elements if min = max."""

    @staticmethod
    def infer(x: Tensor, bins: int, low: float, high: float, /) -> Tensor:
        require_category("a histogram", x, at_least=2)
        if bins < 1 or low > high:
            raise ValueError(f"{bins} bins between {low} and {high} are not defined")
        if low == high:
            ExtremeOp.infer(x)
        return tensor(element_of(x), (bins,))

    @staticmethod
    def numpy(x: Array, bins: int, low: float, high: float, /) -> Array:
        first, last = (np.asarray(bound, x.dtype) for bound in ((low, high) if low < high else (np.min(x), np.max(x))))
        if not np.isfinite(first) or not np.isfinite(last):
            raise ValueError(f"the range [{first}, {last}] of a histogram must be finite")
        if first == last:
            first, last = first - 1, last + 1
        inside = x[(x >= first) & (x <= last)]
        places = np.minimum(((inside - first) * bins / (last - first)).astype(np.int64), bins - 1)
        return np.bincount(places, minlength=bins).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, bins: int, low: float, high: float, /) -> SSAValue:
        element = element_of(x)
        x = aten.view(x, [-1])
        if low < high:
            first, last = number_for(low, element), number_for(high, element)
        else:
            smallest, largest = aten.amin(x), aten.amax(x)
            single = aten.eq.Tensor(smallest, largest)
            first = aten.where.self(single, aten.sub.Scalar(smallest, 1), smallest)
            last = aten.where.self(single, aten.add.Scalar(largest, 1), largest)
        inside = to_element(aten.logical_and(aten.ge.Tensor(x, first), aten.le.Tensor(x, last)), element)
        place = aten.div.Tensor(aten.mul.Scalar(aten.sub.Tensor(x, first), bins), aten.sub.Tensor(last, first))
        place = aten.clamp(place, 0, bins - 1)
        if low < high:
            # A NaN is outside. In the range of the elements it makes the range NaN, and its place is refused.
            place = aten.where.ScalarOther(aten.ge.Scalar(place, 0), place, 0.0)
        return aten.scatter_add(aten.full([bins], 0, element), 0, to_element(place, i64), inside)
