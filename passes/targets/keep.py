"""Which composite operators a target runs whole."""

from __future__ import annotations

from functools import cache

from flambeau.dialects.exec.out_variants import out_variant
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.targets.target import Target, find_target

FUSED_FORMS = frozenset({"scaled_dot_product_attention", "rms_norm", "layer_norm"})
"""Operators without an upstream out-variant that `convert-edge-to-fused` turns into `fused` ones."""


def keeps(target: str, kind: type[SchemaOp]) -> bool:
    """Whether `target` has a kernel for this operator, or a fused form of it."""
    return _keeps(find_target(target), kind)


@cache  # by the target and not by its name, which another may have once a plug-in is loaded again
def _keeps(target: Target, kind: type[SchemaOp]) -> bool:
    if kind.schema.name in FUSED_FORMS:
        return f"flambeau::{kind.schema.name}.out" in target.operators
    out = out_variant(kind.at("edge").schema)
    return out is not None and out.qualified_name in target.operators
