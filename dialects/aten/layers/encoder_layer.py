"""The operators of PyTorch's fast path for inference of attention layers and of encoder layers."""

from __future__ import annotations

import math

from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from flambeau.dialects.aten.layers.activation import GeluOp, ReluOp
from flambeau.dialects.aten.layers.linear import LinearOp
from flambeau.dialects.aten.layers.norm import LayerNormOp
from flambeau.dialects.aten.library.numerics import widened
from flambeau.dialects.aten.linear_algebra.matmul import common_element, require_rank
from flambeau.dialects.aten.movement.permute import permute, swapped
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.aten.reductions.softmax import SoftmaxOp
from flambeau.dialects.ir.tensor_types import Tensor, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, require_shape
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

_HEADS_FIRST = (0, 2, 1, 3)


def placed_mask(shape: tuple[int, ...], scores: tuple[int, ...], mask_type: int | None) -> tuple[int, ...]:
    """Returns the shape in which a mask broadcasts to scores [batch, heads, length, length]. Raises ValueError."""
    batch, _, length, _ = scores
    if len(shape) != 2:
        wanted, result = scores, scores
    elif mask_type == 0:
        wanted, result = (length, length), (1, 1, length, length)
    elif mask_type == 1:
        wanted, result = (batch, length), (batch, 1, 1, length)
    else:
        raise ValueError(f"a mask {list(shape)} needs mask_type 0, [length, length], or 1, [batch, length]; got {mask_type}")
    require_shape("mask", tensor(i1, shape), wanted)
    return result


@aten(
    "_native_multi_head_attention(Tensor query, Tensor key, Tensor value, int embed_dim, int num_head, Tensor qkv_weight, "
    "Tensor qkv_bias, Tensor proj_weight, Tensor proj_bias, Tensor? mask=None, bool need_weights=True, "
    "bool average_attn_weights=True, int? mask_type=None) -> (Tensor, Tensor)"
)
class NativeMultiHeadAttentionOp(SchemaOp):
    """The projected result of multi-head attention over projections of query, key and value; then the attention weights.

    A nonzero mask element hides a key; a row with all keys hidden gives NaN. The mask is [batch, heads, length, length], or with
    `mask_type` 0 [length, length], or with `mask_type` 1 [batch, length]. The weights are empty if `need_weights` is False.
    """

    takes = FLOATS

    @staticmethod
    def infer(
        query: Tensor,
        key: Tensor,
        value: Tensor,
        /,
        embed_dim: int,
        num_head: int,
        qkv_weight: Tensor,
        qkv_bias: Tensor,
        proj_weight: Tensor,
        proj_bias: Tensor,
        mask: Tensor | None,
        need_weights: bool,
        average_attn_weights: bool,
        mask_type: int | None,
    ) -> tuple[Tensor, Tensor]:
        shape = require_rank(query, 3, "query")
        batch, length, features = shape
        if features != embed_dim:
            raise ValueError(f"query {list(shape)} must have {embed_dim} features, embed_dim")
        if num_head <= 0 or features % num_head:
            raise ValueError(f"{features} features do not make up {num_head} heads")
        require_shape("key", key, shape)
        require_shape("value", value, shape)
        require_shape("qkv_weight", qkv_weight, (3 * features, features))
        require_shape("qkv_bias", qkv_bias, (3 * features,))
        element = common_element(query, key, value, qkv_weight, qkv_bias)
        scores = (batch, num_head, length, length)
        if mask is not None:
            placed_mask(shape_of(mask), scores, mask_type)
        weights = (batch, length, length) if average_attn_weights else scores
        result = LinearOp.infer(tensor(element, shape), proj_weight, proj_bias)
        return result, tensor(element, weights if need_weights else (0,))

    @staticmethod
    def numpy(
        query: Array,
        key: Array,
        value: Array,
        /,
        embed_dim: int,
        num_head: int,
        qkv_weight: Array,
        qkv_bias: Array,
        proj_weight: Array,
        proj_bias: Array,
        mask: Array | None,
        need_weights: bool,
        average_attn_weights: bool,
        mask_type: int | None,
    ) -> tuple[Array, Array]:
        batch, length, features = query.shape
        heads: list[Array] = []
        for x, weight, bias in zip((query, key, value), np.split(qkv_weight, 3), np.split(qkv_bias, 3), strict=True):
            projected = widened(LinearOp.numpy(x, weight, bias))
            heads.append(projected.reshape(batch, length, num_head, features // num_head).transpose(_HEADS_FIRST))
        queries, keys, values = heads
        scores = np.matmul(queries / queries.dtype.type(math.sqrt(features // num_head)), keys.swapaxes(-1, -2))
        if mask is not None:
            scores = np.where(mask.reshape(placed_mask(mask.shape, scores.shape, mask_type)) != 0, -np.inf, scores)
        weights = SoftmaxOp.numpy(scores, -1, False)
        joined = np.matmul(weights, values).transpose(_HEADS_FIRST).reshape(query.shape).astype(query.dtype)
        wanted = weights.mean(axis=1) if average_attn_weights else weights
        return LinearOp.numpy(joined, proj_weight, proj_bias), (wanted if need_weights else np.zeros(0)).astype(query.dtype)

    @staticmethod
    def decompose(
        query: SSAValue,
        key: SSAValue,
        value: SSAValue,
        /,
        embed_dim: int,
        num_head: int,
        qkv_weight: SSAValue,
        qkv_bias: SSAValue,
        proj_weight: SSAValue,
        proj_bias: SSAValue,
        mask: SSAValue | None,
        need_weights: bool,
        average_attn_weights: bool,
        mask_type: int | None,
    ) -> tuple[SSAValue, SSAValue]:
        shape = shape_of(query)
        batch, length, features = shape
        apart = (batch, length, num_head, features // num_head)
        if query is key is value:
            projected = aten.linear(query, qkv_weight, qkv_bias)
            parts = [aten.slice.Tensor(projected, 2, place * features, (place + 1) * features) for place in range(3)]
        else:
            rows = [(place * features, (place + 1) * features) for place in range(3)]
            parts = [
                aten.linear(x, aten.slice.Tensor(qkv_weight, 0, *part), aten.slice.Tensor(qkv_bias, 0, *part))
                for x, part in zip((query, key, value), rows, strict=True)
            ]
        queries, keys, values = [permute(view(part, apart), _HEADS_FIRST) for part in parts]
        if mask is None and not need_weights:
            weights = None
            attended = aten.scaled_dot_product_attention(queries, keys, values)
        else:
            # Not as attention with a mask, which gives 0 where a row is hidden entirely.
            scaled = aten.mul.Scalar(queries, 1 / math.sqrt(features // num_head))
            scores = aten.matmul(scaled, permute(keys, swapped(4, -2, -1)))
            if mask is not None:
                hidden = mask if element_of(mask) == i1 else aten.ne.Scalar(mask, 0)
                placed = placed_mask(shape_of(mask), shape_of(scores), mask_type)
                scores = aten.where.ScalarSelf(view(hidden, placed), -math.inf, scores)
            weights = aten._softmax(scores, -1, False)
            attended = aten.matmul(weights, values)
        result = aten.linear(view(permute(attended, _HEADS_FIRST), shape), proj_weight, proj_bias)
        if weights is None or not need_weights:
            return result, aten.full((0,), 0.0, element_of(query))
        return result, aten.mean.dim(weights, (1,)) if average_attn_weights else weights


@aten(
    "_transformer_encoder_layer_fwd(Tensor src, int embed_dim, int num_heads, Tensor qkv_weight, Tensor qkv_bias, "
    "Tensor proj_weight, Tensor proj_bias, bool use_gelu, bool norm_first, float eps, Tensor norm_weight_1, Tensor norm_bias_1, "
    "Tensor norm_weight_2, Tensor norm_bias_2, Tensor ffn_weight_1, Tensor ffn_bias_1, Tensor ffn_weight_2, Tensor ffn_bias_2, "
    "Tensor? mask=None, int? mask_type=None) -> Tensor"
)
class TransformerEncoderLayerFwdOp(SchemaOp):
    """An encoder layer: self-attention, then two linear layers with ReLU or GELU between them; each part is added to its input.

    With `norm_first`, the input of each part is normalised, else each sum. The mask is as for `_native_multi_head_attention`.
    """

    takes = FLOATS

    @staticmethod
    def infer(
        src: Tensor,
        /,
        embed_dim: int,
        num_heads: int,
        qkv_weight: Tensor,
        qkv_bias: Tensor,
        proj_weight: Tensor,
        proj_bias: Tensor,
        norm_weight_1: Tensor,
        norm_bias_1: Tensor,
        norm_weight_2: Tensor,
        norm_bias_2: Tensor,
        ffn_weight_1: Tensor,
        ffn_bias_1: Tensor,
        ffn_weight_2: Tensor,
        ffn_bias_2: Tensor,
        mask: Tensor | None,
        mask_type: int | None,
    ) -> Tensor:
        of_attention = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)
        attended, _ = NativeMultiHeadAttentionOp.infer(src, src, src, *of_attention)
        require_shape("the projection of the attention", attended, shape_of(src))
        for weight, bias in ((norm_weight_1, norm_bias_1), (norm_weight_2, norm_bias_2)):
            LayerNormOp.infer(attended, (embed_dim,), weight, bias)
        inner = LinearOp.infer(attended, require_matrix("ffn_weight_1", ffn_weight_1), ffn_bias_1)
        result = LinearOp.infer(inner, require_matrix("ffn_weight_2", ffn_weight_2), ffn_bias_2)
        require_shape("the result of the linear layers", result, shape_of(src))
        return tensor(element_of(result), shape_of(src))

    @staticmethod
    def numpy(
        src: Array,
        /,
        embed_dim: int,
        num_heads: int,
        qkv_weight: Array,
        qkv_bias: Array,
        proj_weight: Array,
        proj_bias: Array,
        use_gelu: bool,
        norm_first: bool,
        eps: float,
        norm_weight_1: Array,
        norm_bias_1: Array,
        norm_weight_2: Array,
        norm_bias_2: Array,
        ffn_weight_1: Array,
        ffn_bias_1: Array,
        ffn_weight_2: Array,
        ffn_bias_2: Array,
        mask: Array | None,
        mask_type: int | None,
    ) -> Array:
        def norm(x: Array, weight: Array, bias: Array) -> Array:
            return LayerNormOp.numpy(x, (embed_dim,), weight, bias, eps)

        x = norm(src, norm_weight_1, norm_bias_1) if norm_first else src
        of_attention = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)
        total = NativeMultiHeadAttentionOp.numpy(x, x, x, *of_attention)[0] + src
        total = total if norm_first else norm(total, norm_weight_1, norm_bias_1)
        inner = LinearOp.numpy(norm(total, norm_weight_2, norm_bias_2) if norm_first else total, ffn_weight_1, ffn_bias_1)
        active = GeluOp.numpy(inner, "none") if use_gelu else ReluOp.numpy(inner)
        total = total + LinearOp.numpy(active, ffn_weight_2, ffn_bias_2)
        return total if norm_first else norm(total, norm_weight_2, norm_bias_2)

    @staticmethod
    def decompose(
        src: SSAValue,
        /,
        embed_dim: int,
        num_heads: int,
        qkv_weight: SSAValue,
        qkv_bias: SSAValue,
        proj_weight: SSAValue,
        proj_bias: SSAValue,
        use_gelu: bool,
        norm_first: bool,
        eps: float,
        norm_weight_1: SSAValue,
        norm_bias_1: SSAValue,
        norm_weight_2: SSAValue,
        norm_bias_2: SSAValue,
        ffn_weight_1: SSAValue,
        ffn_bias_1: SSAValue,
        ffn_weight_2: SSAValue,
        ffn_bias_2: SSAValue,
        mask: SSAValue | None,
        mask_type: int | None,
    ) -> SSAValue:
        def norm(x: SSAValue, weight: SSAValue, bias: SSAValue) -> SSAValue:
            return aten.layer_norm(x, (embed_dim,), weight, bias, eps)

        x = norm(src, norm_weight_1, norm_bias_1) if norm_first else src
        of_attention = (embed_dim, num_heads, qkv_weight, qkv_bias, proj_weight, proj_bias, mask, False, True, mask_type)
        total = aten.add.Tensor(NativeMultiHeadAttentionOp.decompose(x, x, x, *of_attention)[0], src)
        total = total if norm_first else norm(total, norm_weight_1, norm_bias_1)
        inner = aten.linear(norm(total, norm_weight_2, norm_bias_2) if norm_first else total, ffn_weight_1, ffn_bias_1)
        active = aten.gelu(inner) if use_gelu else aten.relu(inner)
        total = aten.add.Tensor(total, aten.linear(active, ffn_weight_2, ffn_bias_2))
        return total if norm_first else norm(total, norm_weight_2, norm_bias_2)


def require_matrix(name: str, weight: Tensor) -> Tensor:
    """Returns the weight. Raises ValueError when it does not have 2 dimensions."""
    require_rank(weight, 2, name)
    return weight
