"""Which composite operators a target runs whole."""

from __future__ import annotations

from functools import cache

from flambeau.dialects.exec.target import find_target
from flambeau.dialects.out_variants import out_variant
from flambeau.dialects.row import SchemaOp

FUSED_FORMS = frozenset({"scaled_dot_product_attention", "rms_norm", "layer_norm"})
"""Operators without an upstream out-variant that `convert-edge-to-fused` turns into `fused` ones."""


@cache
def keeps(target: str, kind: type[SchemaOp]) -> bool:
    """Whether `target` has a kernel for this operator, or a fused form of it."""
    operators = find_target(target).operators
    if kind.schema.name in FUSED_FORMS:
        return f"flambeau::{kind.schema.name}.out" in operators
    out = out_variant(kind.at("edge").schema)
    return out is not None and out.qualified_name in operators
