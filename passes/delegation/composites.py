"""Composite operators that consist of what most backends of floats take: for the `in_parts` of their tables."""

from __future__ import annotations

from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.analysis.operator_table import Limit, Rule, is_constant


def _mask_is_known(op: SchemaOp) -> str | None:
    """No mask but a causal or a constant one."""
    return None if is_constant(op.argument("attn_mask")) else "its mask is computed when it runs"


_ELEMENTWISE = ("addcmul", "glu", "logit", "rsub.Scalar")
_NORMS = ("layer_norm", "rms_norm")
_MOVEMENTS = ("pixel_unshuffle", "replication_pad1d", "roll", "unfold_copy")

COMPOSITES: dict[str, Rule] = {
    **dict.fromkeys((*_ELEMENTWISE, *_NORMS, *_MOVEMENTS), Rule()),
    "scaled_dot_product_attention": Rule((Limit("query", rank=(3, 6)),), folded=("attn_mask",), checks=(_mask_is_known,)),
}
"""Rules by the names of the operators."""
