"""Sums, means and maxima over bags of rows of a table."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import bf16, f16, f32, i1, i64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.indexing.embedding import require_in_range, require_indices
from flambeau.dialects.aten.library.numerics import element_of_array, widened
from flambeau.dialects.aten.library.operands import as_operand, to_element
from flambeau.dialects.aten.movement.shape import expand
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, is_empty, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, wide_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

SUM, MEAN, MAX = range(3)


def adds_whole_bags(element: ElementType, mode: int, padding_idx: int) -> bool:
    """Returns whether PyTorch's fast sum applies, where the last offset ends the last bag; otherwise the last bag extends to the end."""
    return mode != MAX and padding_idx < 0 and element in (f32, f16, bf16)


def lists_owners(element: ElementType, mode: int, padding_idx: int) -> bool:
    """Returns whether PyTorch lists each index's bag."""
    return mode != SUM or not adds_whole_bags(element, mode, padding_idx)


@aten(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    core=True,
)
class EmbeddingBagCoreOp(SchemaOp):
    """The sum (mode 0), mean (1) or maximum (2) of each bag of rows; then three tensors for the gradient.

    They are the bag of each index, the sizes of the bags (zero for sums), and the rows of the maxima (for sums and means the sizes again).
    """

    takes = FLOATS

    @staticmethod
    def infer(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        mode: int,
        per_sample_weights: Tensor | None,
        include_last_offset: bool,
        padding_idx: int,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        require_indices(indices)
        shape, count = shape_of(weight), shape_of(indices)
        if len(shape) != 2 or len(count) != 1 or len(shape_of(offsets)) != 1:
            raise ValueError("weight must have 2 dimensions, indices and offsets 1")
        if mode not in (SUM, MEAN, MAX):
            raise ValueError(f"mode must be 0 (sum), 1 (mean) or 2 (max), got {mode}")
        if per_sample_weights is not None and (mode != SUM or shape_of(per_sample_weights) != count):
            raise ValueError("per_sample_weights need mode 0 (sum) and one weight per index")
        bags = shape_of(offsets)[0] - include_last_offset
        element = element_of(indices)
        owners = count if lists_owners(element_of(weight), mode, padding_idx) else (0,)
        maxima = (bags, shape[1]) if mode == MAX else (bags,)
        return tensor(element_of(weight), (bags, shape[1])), tensor(element, owners), tensor(element, (bags,)), tensor(element, maxima)

    @staticmethod
    def numpy(
        weight: Array,
        indices: Array,
        offsets: Array,
        mode: int,
        per_sample_weights: Array | None,
        include_last_offset: bool,
        padding_idx: int,
    ) -> tuple[Array, Array, Array, Array]:
        require_in_range(indices, weight.shape[0])
        if offsets.size and (offsets[0] != 0 or offsets.min() < 0 or offsets.max() > indices.shape[0]):
            raise ValueError(f"offsets must begin with 0 and lie within the {indices.shape[0]} indices, got {offsets.tolist()}")
        wide = widened(weight)
        count = offsets.shape[0] - include_last_offset
        bounds = [*offsets.tolist()[:count], indices.shape[0]]
        is_cut = include_last_offset and adds_whole_bags(element_of_array(weight), mode, padding_idx)
        last = offsets[-1] if is_cut else indices.shape[0]
        result = np.zeros((count, weight.shape[1]), wide.dtype)
        maxima = np.zeros((count, weight.shape[1]), indices.dtype)
        sizes, owners = np.zeros(count, indices.dtype), np.zeros(indices.shape, indices.dtype)
        for bag in range(count):
            start, end = bounds[bag], bounds[bag + 1]
            owners[start:end] = bag
            kept = np.flatnonzero(indices[start:end] != padding_idx) + start
            sizes[bag] = len(kept)
            if not len(kept):
                continue
            added = kept[kept < last]
            rows = wide[indices[added]]
            if mode == MAX:
                result[bag] = rows.max(axis=0)
                maxima[bag] = indices[kept][rows.argmax(axis=0)]
                continue
            if per_sample_weights is not None:
                rows = rows * widened(per_sample_weights)[added, None]
            result[bag] = rows.sum(axis=0) / (len(kept) if mode == MEAN else 1)
        if mode == SUM:
            sizes = np.zeros_like(sizes)
        if not lists_owners(element_of_array(weight), mode, padding_idx):
            owners = owners[:0]
        return result.astype(weight.dtype), owners, sizes, maxima if mode == MAX else sizes

    @staticmethod
    def decompose(
        weight: SSAValue,
        indices: SSAValue,
        offsets: SSAValue,
        mode: int,
        per_sample_weights: SSAValue | None,
        include_last_offset: bool,
        padding_idx: int,
    ) -> tuple[SSAValue, SSAValue, SSAValue, SSAValue]:
        bags, (count,), width = shape_of(offsets)[0] - include_last_offset, shape_of(indices), shape_of(weight)[1]
        is_listed = lists_owners(element_of(weight), mode, padding_idx)
        element, whole = element_of(weight), element_of(indices)
        wide = wide_element(element)
        if is_empty((bags, count)):
            none = aten.full((bags,), 0, whole)
            rows = aten.full((bags, width), 0, whole) if mode == MAX else none
            return aten.full((bags, width), 0, element), aten.full((count if is_listed else 0,), 0, whole), none, rows
        # The kernel of gather refuses an offset beyond the indices; where the first one is not 0, an index of no bag is refused below.
        offsets = aten.gather(aten.arange.start_step(0, count + 1), 0, to_element(offsets, i64))
        starts = aten.slice.Tensor(offsets, 0, 0, -1) if include_last_offset else offsets
        owners = aten.sub.Scalar(aten.searchsorted.Tensor(starts, aten.arange.start_step(0, count), right=True), 1)
        kept = aten.ne.Scalar(indices, padding_idx) if padding_idx >= 0 else aten.full((count,), True, i1)
        rows = to_element(aten.index.Tensor(weight, [indices]), wide)
        if per_sample_weights is not None:
            rows = aten.mul.Tensor(rows, aten.unsqueeze(to_element(per_sample_weights, wide), 1))
        mask, places = aten.unsqueeze(kept, 1), expand(aten.unsqueeze(owners, 1), (count, width))
        sizes = aten.full((bags,), 0, i64)
        if mode != SUM:
            sizes = aten.scatter_add(sizes, 0, owners, to_element(kept, i64))
        listed = to_element(owners, whole) if is_listed else aten.full((0,), 0, whole)
        if mode == MAX:
            lowest = aten.full((bags, width), -math.inf, wide)
            rows = aten.where.self(mask, rows, as_operand(-math.inf, wide))
            found = aten.scatter_reduce.two(lowest, 0, places, rows, "amax")
            is_empty_bag = aten.unsqueeze(aten.eq.Scalar(sizes, 0), 1)
            # The first row of a bag in which the maximum stands: the least place of those that have it.
            matches = aten.logical_or(aten.eq.Tensor(rows, aten.gather(found, 0, places)), aten.isnan(rows))
            matches = aten.logical_and(matches, mask)
            order = aten.where.self(matches, aten.unsqueeze(aten.arange.start_step(0, count), 1), as_operand(count - 1, i64))
            first = aten.scatter_reduce.two(aten.full((bags, width), count - 1, i64), 0, places, order, "amin")
            maxima = aten.index.Tensor(indices, [first])
            maxima = aten.where.self(is_empty_bag, aten.full((1, 1), 0, whole), maxima)
            found = aten.where.self(is_empty_bag, aten.full((1, 1), 0, wide), found)
            return to_element(found, element), listed, to_element(sizes, whole), maxima
        if include_last_offset and adds_whole_bags(element, mode, padding_idx):
            last = aten.select.int(offsets, 0, -1)
            mask = aten.logical_and(mask, aten.unsqueeze(aten.lt.Tensor(aten.arange.start_step(0, count), last), 1))
        found = aten.scatter_add(aten.full((bags, width), 0, wide), 0, places, aten.where.self(mask, rows, as_operand(0, wide)))
        if mode == MEAN:
            found = aten.div.Tensor(found, to_element(aten.unsqueeze(aten.clamp(sizes, 1), 1), wide))
        sizes = to_element(sizes, whole)
        return to_element(found, element), listed, sizes, aten.clone(sizes)


@aten(
    "embedding_bag.padding_idx(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq, int mode, bool sparse, "
    "Tensor? per_sample_weights, bool include_last_offset, int? padding_idx) -> (Tensor, Tensor, Tensor, Tensor)"
)
class EmbeddingBagPaddingIdxOp(SchemaOp):
    """`_embedding_bag` with a `padding_idx` that may be negative, counted from the last row, or None for no padding row."""

    takes = FLOATS

    @staticmethod
    def row(table: tuple[int, ...], padding_idx: int | None) -> int:
        """Returns the row that is padding, or -1. Raises ValueError."""
        if padding_idx is None:
            return -1
        if not -table[0] <= padding_idx < table[0]:
            raise ValueError(f"padding_idx {padding_idx} is not a row of a table of {table[0]}")
        return padding_idx % table[0]

    @staticmethod
    def infer(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        mode: int,
        per_sample_weights: Tensor | None,
        include_last_offset: bool,
        padding_idx: int | None,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        row = EmbeddingBagPaddingIdxOp.row(shape_of(weight), padding_idx)
        return EmbeddingBagCoreOp.infer(weight, indices, offsets, mode, per_sample_weights, include_last_offset, row)

    @staticmethod
    def numpy(
        weight: Array,
        indices: Array,
        offsets: Array,
        mode: int,
        per_sample_weights: Array | None,
        include_last_offset: bool,
        padding_idx: int | None,
    ) -> tuple[Array, Array, Array, Array]:
        row = EmbeddingBagPaddingIdxOp.row(weight.shape, padding_idx)
        return EmbeddingBagCoreOp.numpy(weight, indices, offsets, mode, per_sample_weights, include_last_offset, row)

    @staticmethod
    def decompose(
        weight: SSAValue,
        indices: SSAValue,
        offsets: SSAValue,
        scale_grad_by_freq: bool,
        mode: int,
        sparse: bool,
        per_sample_weights: SSAValue | None,
        include_last_offset: bool,
        padding_idx: int | None,
    ) -> tuple[SSAValue, ...]:
        row = EmbeddingBagPaddingIdxOp.row(shape_of(weight), padding_idx)
        found = aten._embedding_bag.results(
            weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset, row
        )
        return tuple(found)


@aten(
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)"
)
class EmbeddingBagOp(SchemaOp):
    """`_embedding_bag` without a padding row."""

    takes = FLOATS

    @staticmethod
    def infer(
        weight: Tensor,
        indices: Tensor,
        offsets: Tensor,
        mode: int,
        per_sample_weights: Tensor | None,
        include_last_offset: bool,
    ) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        return EmbeddingBagCoreOp.infer(weight, indices, offsets, mode, per_sample_weights, include_last_offset, -1)

    @staticmethod
    def numpy(
        weight: Array,
        indices: Array,
        offsets: Array,
        mode: int,
        per_sample_weights: Array | None,
        include_last_offset: bool,
    ) -> tuple[Array, Array, Array, Array]:
        return EmbeddingBagCoreOp.numpy(weight, indices, offsets, mode, per_sample_weights, include_last_offset, -1)

    @staticmethod
    def decompose(
        weight: SSAValue,
        indices: SSAValue,
        offsets: SSAValue,
        scale_grad_by_freq: bool,
        mode: int,
        sparse: bool,
        per_sample_weights: SSAValue | None,
        include_last_offset: bool,
    ) -> tuple[SSAValue, ...]:
        found = aten._embedding_bag.results(
            weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights, include_last_offset
        )
        return tuple(found)
