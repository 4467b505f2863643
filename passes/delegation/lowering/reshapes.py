"""Shapes as formats of models write them: a size that stays, or that follows from the others, need not be known before the run."""

from __future__ import annotations

from collections.abc import Sequence

from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp


def reshape_pattern(old: Sequence[int], new: Sequence[int]) -> tuple[int, ...] | None:
    """Returns the pattern of a reshape: 0 for a size, unknown before the run, that stays at its place, -1 for a size that follows.

    Returns None if two sizes would have to follow. Known sizes must be positive.
    """
    pattern = tuple(
        size if is_known(size) else 0 if dim < len(old) and provably_equal(size, old[dim]) else -1 for dim, size in enumerate(new)
    )
    return pattern if pattern.count(-1) <= 1 else None


def one_follows(op: SchemaOp) -> str | None:
    """At most one size that only the run knows is not at the place where it was."""
    has_pattern = reshape_pattern(shape_of(op.operands[0]), shape_of(op.result)) is not None
    return None if has_pattern else "the run decides more than one of its sizes that are not where they were"


def pattern_shape(shape: Sequence[int], pattern: Sequence[int], special_zero: bool) -> tuple[int, ...]:
    """Returns the shape of a pattern: -1 follows from the other extents, and with `special_zero` 0 is the input's extent at its place."""
    copied = {dim for dim, asked in enumerate(pattern) if special_zero and asked == 0}
    missing = pattern.count(-1)
    if missing > 1 or min(pattern, default=0) < -1 or max(copied, default=-1) >= len(shape):
        raise ValueError(f"{list(shape)} cannot have the shape {list(pattern)}")
    # Extents that both shapes have at one place cancel, so they may be unknown.
    total, known = 1, 1
    for dim, extent in enumerate(shape):
        total *= 1 if dim in copied else extent
    for dim, asked in enumerate(pattern):
        known *= 1 if asked == -1 or dim in copied else asked
    if known == 0 or (total % known if missing else total != known):
        raise ValueError(f"{list(shape)} cannot have the shape {list(pattern)}")
    return tuple(shape[dim] if dim in copied else total // known if asked == -1 else asked for dim, asked in enumerate(pattern))
