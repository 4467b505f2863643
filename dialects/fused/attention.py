"""Fused attention, over given keys and values, or over a cache."""

from __future__ import annotations

from typing import cast

from flambeau.dialects.aten.layers.attention import ScaledDotProductAttentionOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, f32, i64, shape_of, tensor
from flambeau.dialects.schema.families import require_same_element
from flambeau.dialects.schema.row import SchemaOp, row
from flambeau.support.lazy import Array, np


def _infer(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> Tensor:
    require_same_element(query, key, value)
    q, k, v = shape_of(query), shape_of(key), shape_of(value)
    if len(q) != 4 or len(k) != 4 or len(v) != 4 or q[3] != k[3] or k[2] != v[2] or k[1] != v[1]:
        raise ValueError(f"query {list(q)}, key {list(k)} and value {list(v)} do not fit each other")
    if q[1] != k[1] and not (enable_gqa and k[1] and q[1] % k[1] == 0):
        raise ValueError(f"{q[1]} query heads do not share {k[1]} key heads")
    return tensor(element_of(query), (*q[:3], v[3]))


@row(
    "fused",
    "flambeau",
    "scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? mask, bool is_causal, float scale, bool enable_gqa)"
    " -> Tensor",
)
class FusedAttentionOp(SchemaOp):
    """softmax(query @ key.T * scale + mask) @ value over [batch, heads, positions, features], in any dim order with features innermost.

    A row whose keys are all hidden by the mask gives 0.
    """

    takes = frozenset((f32,))
    any_order = (0, 1, 2, 3)

    @staticmethod
    def infer(query: Tensor, key: Tensor, value: Tensor, enable_gqa: bool) -> Tensor:
        return _infer(query, key, value, enable_gqa)

    @staticmethod
    def numpy(query: Array, key: Array, value: Array, mask: Array | None, is_causal: bool, scale: float, enable_gqa: bool) -> Array:
        return ScaledDotProductAttentionOp.numpy(query, key, value, mask, is_causal, scale, enable_gqa)


@row(
    "fused",
    "flambeau",
    "cached_attention(Tensor query, Tensor key_cache, Tensor value_cache, Tensor position, float scale, int? window=None) -> Tensor",
)
class CachedAttentionOp(SchemaOp):
    """softmax(query @ key.T * scale) @ value over a cache [batch, heads, places, features], of which the queries are the newest places.

    `position` is the place of the first query in the cache. A query sees its own place and earlier places, with `window` at most this many
    places; later places are not read. Groups of query heads share a head of keys. A query that sees no place gives 0.
    """

    takes = frozenset((f32,))
    any_order = (0, 1, 2)

    @staticmethod
    def infer(query: Tensor, key: Tensor, value: Tensor, position: Tensor, /, window: int | None) -> Tensor:
        if element_of(position) != i64 or any(extent != 1 for extent in shape_of(position)):
            raise ValueError(f"position must be one number of int64, got {position}")
        if window is not None and window < 1:
            raise ValueError(f"the window must have at least one key, got {window}")
        return _infer(query, key, value, True)

    @staticmethod
    def numpy(query: Array, key: Array, value: Array, position: Array, /, scale: float, window: int | None) -> Array:
        places = cast(Array, np.arange(key.shape[2]))
        own = cast(Array, np.arange(query.shape[2]))[:, None] + position.item()
        mask = cast(Array, (places <= own) & (True if window is None else places > own - window))
        return ScaledDotProductAttentionOp.numpy(query, key, value, mask, False, scale, True)
