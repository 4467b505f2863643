"""How often an invocation goes round its loops, which no driver promises to do without end.

Mesa's lavapipe leaves all loops of an invocation behind 65 536 rounds, without an error, and GPUs have clocks that end what takes long.
"""

from __future__ import annotations

from math import prod

from flambeau.backends.vulkan.dialect.kernels import GROUP, MOST_GROUPS
from flambeau.backends.vulkan.dialect.reductions import lanes_of
from flambeau.dialects.ir.tensor_types import numel, shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.normalized import Numbers, dim_of, reduced_dims, windows_of

MOST_ROUNDS = 60_000


def ends_soon(op: SchemaOp) -> str | None:
    """Sums, rows and windows that an invocation computes in 60000 rounds of its loops, which every driver does."""
    rounds = _ROUNDS[op.schema.base](op)
    return None if rounds <= MOST_ROUNDS else f"an invocation computes its result in {rounds} rounds, and every driver does {MOST_ROUNDS}"


def _of_product(op: SchemaOp) -> int:
    return shape_of(op.operands[1 if op.schema.base == "addmm" else 0])[-1]


def _of_convolution(op: SchemaOp) -> int:
    weight, groups = shape_of(op.argument("weight")), op.argument("groups")
    return (weight[0] // groups if op.argument("transposed") else weight[1]) * (1 + _of_window(weight[2:]))


def _of_window(kernel: Numbers) -> int:
    return prod(kernel[:-1]) * (1 + kernel[-1])


def _turns(op: SchemaOp) -> int:
    return -(-numel(op.results[0]) // (GROUP * MOST_GROUPS))


def _of_pool(op: SchemaOp) -> int:
    return _turns(op) * _of_window(windows_of(op).kernel)


def _of_adaptive_pool(op: SchemaOp) -> int:
    old, new = shape_of(op.operands[0])[2:], shape_of(op.result)[2:]
    if new == (1, 1):
        return _of_rows(numel(op.result), prod(old), 1, 1)
    return _turns(op) * _of_window(tuple(size // count for size, count in zip(old, new, strict=True)))


def _of_rows(rows: int, count: int, inner: int, passes: int) -> int:
    lanes, turns, _ = lanes_of(rows, count, inner)
    return turns * passes * -(-count // lanes)


def _of_reduction(op: SchemaOp) -> int:
    shape, dims = shape_of(op.operands[0]), reduced_dims(op)
    inner = prod(shape[dims[-1] + 1 :]) if dims else 1
    return _of_rows(numel(op.result), prod(shape[dim] for dim in dims), inner, 1)


def _of_softmax(op: SchemaOp) -> int:
    shape, dim = shape_of(op.result), dim_of(op)
    return _of_rows(numel(op.result) // shape[dim], shape[dim], prod(shape[dim + 1 :]), 3) if shape else 1


def _of_norm(op: SchemaOp) -> int:
    if op.schema.base == "native_group_norm":
        count = op.argument("C") // op.argument("group") * op.argument("HxW")
    else:
        count = prod(op.argument("normalized_shape"))
    return _of_rows(numel(op.results[0]) // count, count, 1, 3)


_ROUNDS = {
    **dict.fromkeys(("linear", "addmm", "mm", "bmm"), _of_product),
    "convolution": _of_convolution,
    **dict.fromkeys(("max_pool2d_with_indices", "avg_pool2d"), _of_pool),
    "_adaptive_avg_pool2d": _of_adaptive_pool,
    **dict.fromkeys(("amax", "amin", "mean", "sum"), _of_reduction),
    **dict.fromkeys(("_softmax", "_log_softmax"), _of_softmax),
    **dict.fromkeys(("native_layer_norm", "native_group_norm"), _of_norm),
}
