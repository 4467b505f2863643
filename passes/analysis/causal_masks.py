"""Masks that show each query the keys up to its own place in a sequence, perhaps only the newest of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xdsl.dialects.builtin import i1, i64
from xdsl.ir import SSAValue

from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import element_of, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.rewriting.constants import ModuleConstants

_MOST = 100
"""The operations of a mask that are looked at: those of models have about twenty."""
_ORDERS: dict[str, Callable[[int], tuple[int, int]]] = {
    "le": lambda most: (1, most),
    "lt": lambda most: (1, most - 1),
    "ge": lambda least: (-1, -least),
    "gt": lambda least: (-1, -least - 1),
}
"""What comparing d = left - right with a number says: that the sign times d is at most another number."""
_VIEWS = ("view", "view_copy", "unsqueeze", "unsqueeze_copy", "squeeze", "squeeze_copy")


@dataclass(frozen=True)
class CausalMask:
    """A query at place `position` + i sees its own place and those before it, or the `window` newest of them."""

    position: SSAValue
    window: int | None


def causal_mask(mask: SSAValue, scores: tuple[int, int], constants: ModuleConstants) -> CausalMask | None:
    """Returns the causal mask that `mask` is; None unless its position is an input or computed. `scores` is (queries, keys)."""
    found = _Reading(scores, constants).reach(mask)
    if found is None or found.most != 0 or found.position is None or (found.least is not None and found.least > 0):
        return None
    return CausalMask(found.position, None if found.least is None else 1 - found.least)


@dataclass(frozen=True)
class _Places:
    """A tensor of the numbers coordinate + start + position: of one axis, counted from the last, or of none."""

    axis: int | None
    start: int
    position: SSAValue | None = None


@dataclass(frozen=True)
class _Reach:
    """A mask of the keys from place + least to place + most of a query; it has no limit where a number is None."""

    least: int | None = None
    most: int | None = None
    position: SSAValue | None = None


@dataclass
class _Reading:
    scores: tuple[int, int]
    constants: ModuleConstants
    left: int = _MOST

    def reach(self, mask: SSAValue) -> _Reach | None:
        """Returns the keys that each query sees through `mask`, broadcast to the scores; None when unknown."""
        op = mask.owner
        self.left -= 1
        if element_of(mask) != i1 or self.left < 0:
            return None
        if (array := self.constants.array(mask)) is not None:
            return _Reach() if array.all() else None
        if not isinstance(op, SchemaOp):
            return None
        name = op.schema.name.partition(".")[0]
        if name in ("bitwise_and", "logical_and") and len(op.operands) == 2:
            first, second = map(self.reach, op.operands)
            return None if first is None or second is None else _both(first, second)
        if name in ("expand", "expand_copy"):
            return self.reach(op.operands[0])
        # A mask that is broadcast along the queries hides the same keys for all queries.
        shape = shape_of(mask)[-2:]
        if name not in _ORDERS or len(op.operands) != 2 or len(shape) != 2 or not all(map(provably_equal, shape, self.scores)):
            return None
        left, right = map(self.places, op.operands)
        if left is None or right is None:
            return None
        sign, limit = _ORDERS[name](right.start - left.start)
        if left.axis == -1 and left.position is None:
            queries = right
        elif right.axis == -1 and right.position is None:
            queries, sign = left, -sign
        else:
            return None
        if queries.position is None or queries.axis not in (-2, None) or (queries.axis is None and not _is_one(self.scores[0])):
            return None
        return _Reach(None, limit, queries.position) if sign > 0 else _Reach(-limit, None, queries.position)

    def places(self, value: SSAValue) -> _Places | None:
        """Returns the positions in an int64 tensor that counts along one dimension at most; None for other tensors."""
        op = value.owner
        self.left -= 1
        wide = [dim - len(shape_of(value)) for dim, extent in enumerate(shape_of(value)) if not _is_one(extent)]
        if element_of(value) != i64 or len(wide) > 1 or self.left < 0:
            return None
        axis = wide[0] if wide else None
        if (array := self.constants.array(value)) is not None:
            flat = array.reshape(-1).tolist()
            return _Places(axis, flat[0]) if flat and flat == list(range(flat[0], flat[0] + len(flat))) else None
        found = self._computed(op, axis) if isinstance(op, SchemaOp) else None
        return _Places(None, 0, value) if found is None and axis is None else found

    def _computed(self, op: SchemaOp, axis: int | None) -> _Places | None:
        match op.schema.name, op.arguments():
            case "arange.start_step", [start, _, 1, *_] if is_known(start):
                return _Places(axis, int(start))
            case name, [source, *_] if name in _VIEWS:
                # A view keeps the order of elements, so the only dimension larger than 1 can only move.
                found = self.places(source)
                return None if found is None else replace(found, axis=axis)
            case ("add.Tensor" | "sub.Tensor") as name, [left, right, 1]:
                return _sum(self.places(left), self.places(right), 1 if name == "add.Tensor" else -1)
            case ("add.Scalar" | "sub.Scalar") as name, [left, int(number), 1] if is_known(number):
                return _sum(self.places(left), _Places(None, number), 1 if name == "add.Scalar" else -1)
            case _:
                return None


def _both(first: _Reach, second: _Reach) -> _Reach | None:
    if first.position is not None and second.position is not None and first.position is not second.position:
        return None
    least = [item.least for item in (first, second) if item.least is not None]
    most = [item.most for item in (first, second) if item.most is not None]
    return _Reach(max(least, default=None), min(most, default=None), first.position or second.position)


def _sum(left: _Places | None, right: _Places | None, sign: int) -> _Places | None:
    if left is None or right is None or (sign < 0 and (right.axis, right.position) != (None, None)):
        return None
    if (left.axis is not None and right.axis is not None) or (left.position is not None and right.position is not None):
        return None
    axis = right.axis if left.axis is None else left.axis
    return _Places(axis, left.start + sign * right.start, left.position or right.position)


def _is_one(extent: int) -> bool:
    return is_known(extent) and extent == 1
