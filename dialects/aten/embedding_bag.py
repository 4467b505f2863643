"""Sums, means and maxima over bags of rows of a table."""

from __future__ import annotations

from xdsl.dialects.builtin import bf16, f16, f32
from xdsl.ir import SSAValue

from flambeau.dialects.aten.embedding import require_in_range, require_indices
from flambeau.dialects.aten.numerics import element_of_array, widened
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

SUM, MEAN, MAX = range(3)


def lists_owners(element: ElementType, mode: int, padding_idx: int) -> bool:
    """Whether PyTorch lists each index's bag: not where it adds rows up without looking at them."""
    return mode != SUM or padding_idx >= 0 or element not in (f32, f16, bf16)


@aten(
    "_embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False, int padding_idx=-1) -> (Tensor, Tensor, Tensor, Tensor)",
    core=True,
)
class EmbeddingBagCoreOp(SchemaOp):
    """The sum (mode 0), mean (1) or maximum (2) of each bag of rows; then what its gradient needs.

    That is each index's bag, the bags' sizes (zero for sums), and the rows of the maxima (the sizes again for sums and means).
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
        wide = widened(weight)
        count = offsets.shape[0] - include_last_offset
        bounds = [*offsets.tolist()[: count + 1], indices.shape[0]]
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
            rows = wide[indices[kept]]
            if mode == MAX:
                result[bag] = rows.max(axis=0)
                maxima[bag] = indices[kept][rows.argmax(axis=0)]
                continue
            if per_sample_weights is not None:
                rows = rows * widened(per_sample_weights)[kept, None]
            result[bag] = rows.sum(axis=0) if mode == SUM else rows.mean(axis=0)
        if mode == SUM:
            sizes = np.zeros_like(sizes)
        if not lists_owners(element_of_array(weight), mode, padding_idx):
            owners = owners[:0]
        return result.astype(weight.dtype), owners, sizes, maxima if mode == MAX else sizes


@aten(
    "embedding_bag(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, int mode=0, bool sparse=False, "
    "Tensor? per_sample_weights=None, bool include_last_offset=False) -> (Tensor, Tensor, Tensor, Tensor)"
)
class EmbeddingBagOp(SchemaOp):
    """As `_embedding_bag`, without a row that counts as padding."""

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
