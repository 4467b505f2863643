"""Attention."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.linear_algebra.matmul import common_element, matmul_shape
from flambeau.dialects.aten.movement.permute import permute, swapped
from flambeau.dialects.aten.movement.shape import expanded_shape
from flambeau.dialects.ir.extents import is_known
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def head_repeats(query: Sequence[int], key: Sequence[int], enable_gqa: bool) -> int:
    """Returns the number of query heads that share a key head. Raises ValueError."""
    if not enable_gqa:
        return 1
    if len(query) < 3 or len(key) < 3 or not key[-3] or query[-3] % key[-3]:
        raise ValueError(f"the heads of query {list(query)} are not a multiple of those of key {list(key)}")
    return query[-3] // key[-3]


def scale_of(query: Sequence[int], scale: float | None) -> float:
    """Returns the factor of the scores: where it is not given, one over the root of the features, of which there may be none."""
    return scale if scale is not None else 1 / math.sqrt(query[-1] or 1)


def repeated_heads(shape: tuple[int, ...], repeats: int) -> tuple[int, ...]:
    """Returns the shape of keys or values with each head repeated."""
    return shape if repeats == 1 else (*shape[:-3], shape[-3] * repeats, *shape[-2:])


def masked_softmax(scores: Array, mask: Array | None, is_causal: bool) -> Array:
    """Returns the softmax of masked scores over the last dimension; a row that is masked entirely gives zeros."""
    if is_causal:
        visible: Array = np.tril(np.ones(scores.shape[-2:], np.bool_))
        mask = visible if mask is None else np.where(visible, mask, False if mask.dtype == np.bool_ else -np.inf)
    if mask is not None:
        scores = np.where(mask, scores, -np.inf) if mask.dtype == np.bool_ else scores + mask
    highest = scores.max(axis=-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(highest == -np.inf, 0, highest))
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


@aten(
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None, float dropout_p=0., "
    "bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    keep=True,
)
class ScaledDotProductAttentionOp(SchemaOp):
    """softmax(scale * query @ keyᵀ + mask) @ value. A bool mask hides the keys that are False; a row with all keys hidden gives zeros."""

    takes = FLOATS

    @staticmethod
    def infer(
        query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, /, dropout_p: float, is_causal: bool, enable_gqa: bool
    ) -> Tensor:
        shape = shape_of(query)
        if dropout_p:
            raise ValueError(f"attention that drops elements with probability {dropout_p} is for training; export the model after .eval()")
        if min(len(shape_of(operand)) for operand in (query, key, value)) < 2:
            raise ValueError("query, key and value must have at least 2 dimensions")
        repeats = head_repeats(shape, shape_of(key), enable_gqa)
        keys = repeated_heads(shape_of(key), repeats)
        scores = matmul_shape(shape, (*keys[:-2], keys[-1], keys[-2]))
        if mask is not None:
            if is_causal:
                raise ValueError("attn_mask and is_causal exclude each other")
            if element_of(mask) not in (i1, element_of(query)):
                raise TypeError(f"attn_mask must be of bool or of the query's type, got {element_of(mask)}")
            if len(shape_of(mask)) < 2 < len(shape):
                raise ValueError(f"attn_mask {list(shape_of(mask))} must have at least 2 dimensions")
            expanded_shape(shape_of(mask), scores)
        return tensor(common_element(query, key, value), matmul_shape(scores, repeated_heads(shape_of(value), repeats)))

    @staticmethod
    def numpy(
        query: Array, key: Array, value: Array, mask: Array | None, /, is_causal: bool, scale: float | None, enable_gqa: bool
    ) -> Array:
        repeats = head_repeats(query.shape, key.shape, enable_gqa)
        wide, keys, values = widened(query), widened(key), widened(value)
        if repeats > 1:
            keys, values = np.repeat(keys, repeats, axis=-3), np.repeat(values, repeats, axis=-3)
        factor = wide.dtype.type(scale_of(query.shape, scale))
        scores = np.matmul(wide * factor, keys.swapaxes(-1, -2))
        weights = masked_softmax(scores, mask if mask is None or mask.dtype == np.bool_ else widened(mask), is_causal)
        return np.matmul(weights.astype(wide.dtype), values).astype(query.dtype)

    @staticmethod
    def decompose(
        query: SSAValue,
        key: SSAValue,
        value: SSAValue,
        mask: SSAValue | None,
        /,
        is_causal: bool,
        scale: float | None,
        enable_gqa: bool,
    ) -> SSAValue:
        shape, keys = shape_of(query), shape_of(key)
        repeats = head_repeats(shape, keys, enable_gqa)
        scores = _scores(aten.mul.Scalar(query, scale_of(shape, scale)), key, repeats)
        visible: SSAValue | None = None
        if is_causal:
            # Each query sees at least the first key, so no row is hidden.
            mask = _hidden(aten.tril(aten.full(shape_of(scores)[-2:], True, i1)), scores)
        elif mask is not None:
            # A row that is hidden entirely is computed as if nothing of it were, and multiplied by 0.
            shown = mask if element_of(mask) == i1 else aten.ne.Scalar(mask, -math.inf)
            visible = aten.any.dim(shown, -1, True)
            if element_of(mask) == i1:
                mask = _hidden(aten.logical_or(mask, aten.logical_not(visible)), scores)
            else:
                mask = aten.where.ScalarOther(visible, mask, 0.0)
        if mask is not None:
            scores = aten.add.Tensor(scores, mask)
        weights = aten._softmax(scores, -1, False)
        if visible is not None:
            weights = aten.mul.Tensor(weights, to_element(visible, element_of(scores)))
        if repeats == 1:
            return aten.matmul(weights, value)
        return _ungrouped(aten.matmul(_grouped(weights, keys[-3]), value), shape)


def _hidden(visible: SSAValue, scores: SSAValue) -> SSAValue:
    """Returns the addend of scores with the shape of the mask: 0 for visible scores, -inf for hidden scores. Layers share it."""
    return to_element(aten.where.Scalar(visible, 0.0, -math.inf), element_of(scores))


def _scores(query: SSAValue, key: SSAValue, repeats: int) -> SSAValue:
    """Returns query @ keyᵀ, where groups of query heads share a key head: the queries of a group are so many more queries of one head."""
    keys = shape_of(key)
    rows = query if repeats == 1 else _grouped(query, keys[-3])
    queries, features = shape_of(rows)[-2:]
    if is_known(queries) and queries < features:
        # Fewer scores than keys have features: they are transposed, and the keys, which may be a long cache, are not.
        found = aten.matmul(key, permute(rows, swapped(len(shape_of(rows)), -2, -1)))
        found = permute(found, swapped(len(shape_of(found)), -2, -1))
    else:
        found = aten.matmul(rows, permute(key, swapped(len(keys), -2, -1)))
    return found if repeats == 1 else _ungrouped(found, shape_of(query))


def _grouped(value: SSAValue, heads: int) -> SSAValue:
    """Returns [..., heads of queries, queries, n] as [..., heads of keys, queries of a group, n]."""
    *batch, own, queries, features = shape_of(value)
    return aten.view(value, (*batch, heads, own // heads * queries, features))


def _ungrouped(value: SSAValue, query: tuple[int, ...]) -> SSAValue:
    """Returns the inverse of `_grouped` for queries of a shape."""
    *batch, _, _, features = shape_of(value)
    return aten.view(value, (*batch, *query[-3:-1], features))
