"""Checks of sizes that only the run knows: that the numbers of an operator are known, and that its shapes fit, in every run.

A payload says the greatest sizes, and what it computes is checked with these: sizes that only happen to be equal in a run have other ones.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import cast

from flambeau.dialects.ir.extents import is_known, provably_equal
from flambeau.dialects.ir.tensor_types import has_static_entries, normalize_dim, shape_of
from flambeau.dialects.schema.row import SchemaOp

_SHAPES = ("view_copy", "expand_copy", "native_group_norm")
"""Operators whose numbers are sizes of their tensors."""


def only_first_is_open(op: SchemaOp) -> str | None:
    """No size that only the run knows, but for those of first dimensions."""
    results = [value for value in op.results if value.uses or len(op.results) == 1]
    found = next((value for value in (*op.operands, *results) if not has_static_entries(value)), None)
    return None if found is None else f"a size of {list(shape_of(found))} behind the first is known when it runs only"


def numbers_are_known(op: SchemaOp) -> str | None:
    """No number in it that only the run knows, but for those of a shape."""
    values = [] if op.schema.base in _SHAPES else [op.argument(name) for name in op.schema.attributes]
    numbers = [number for value in values for number in (cast("tuple[int, ...]", value) if isinstance(value, tuple) else (value,))]
    return None if all(map(is_known, numbers)) else "a number in it is known when it runs only"


def sizes_fit(op: SchemaOp) -> str | None:
    """Sizes of operands that fit in every run, as is known before."""
    wrong = next(((a, b) for a, b in _equal(op) if not (is_known(a) and is_known(b)) and not provably_equal(a, b)), None)
    return None if wrong is None else f"whether {wrong[0]} is {wrong[1]} is known when it runs only"


def _equal(op: SchemaOp) -> Iterator[tuple[int, int]]:
    """Yields the pairs of sizes that must be equal."""
    shapes = [shape_of(value) for value in op.operands]
    match op.schema.base:
        case "linear":
            yield shapes[0][-1], shapes[1][-1]
            yield from _broadcast(shapes[2:], shape_of(op.result))
        case "mm" | "addmm":
            yield shapes[-2][1], shapes[-1][0]
            yield from _broadcast(shapes[:-2], shape_of(op.result))
        case "bmm":
            yield from ((shapes[0][0], shapes[1][0]), (shapes[0][2], shapes[1][1]))
        case "convolution":
            yield shapes[0][1], shapes[1][0] if op.argument("transposed") else shapes[1][1] * op.argument("groups")
        case "cat" | "stack":
            along = normalize_dim(op.argument("dim"), len(shapes[0])) if op.schema.base == "cat" else None
            yield from ((shape[dim], size) for shape in shapes for dim, size in enumerate(shapes[0]) if dim != along)
        case "scaled_dot_product_attention":
            query, key, value = shapes[:3]
            yield from ((query[-1], key[-1]), (key[-2], value[-2]))
            yield from _broadcast([shape[:-2] for shape in shapes[:3]], shape_of(op.result)[:-2])
            yield from _broadcast(shapes[3:], (*shape_of(op.result)[:-1], key[-2]))
        case "select_scatter" | "slice_scatter":
            along, source = normalize_dim(op.argument("dim"), len(shapes[0])), list(shapes[1])
            if op.schema.base == "select_scatter":
                source.insert(along, 1)
            yield from ((size, source[dim]) for dim, size in enumerate(shapes[0]) if dim != along)
        case "prelu":
            yield from ((size, prod(shapes[1])) for size in shapes[0][:2][-1:] if prod(shapes[1]) != 1)
        case "native_group_norm":
            yield from zip((*shapes[0][:2], prod(shapes[0][2:])), (op.argument(name) for name in ("N", "C", "HxW")), strict=True)
            yield from ((shape[0], op.argument("C")) for shape in shapes[1:])
        case "native_layer_norm" | "layer_norm" | "rms_norm":
            sizes = op.argument("normalized_shape")
            yield from ((a, b) for shape in shapes for a, b in zip(shape[-len(sizes) :], sizes, strict=True))
        case "view_copy":
            yield prod(shapes[0]), prod(shape_of(op.result))
        case base if op.elementwise or base in ("where", "expand_copy"):
            yield from _broadcast(shapes, shape_of(op.results[0]))
        case _:
            return


def _broadcast(shapes: Sequence[Sequence[int]], result: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yields pairs of sizes that are equal where `shapes` are broadcast to `result`: all sizes but 1."""
    yield from ((a, b) for shape in shapes for a, b in zip(reversed(shape), reversed(result), strict=False) if not provably_equal(a, 1))
