"""Rows of a backend's dialect that are made of rows of ATen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from flambeau.dialects.schema.row import RowT, SchemaOp, class_name
from flambeau.support.lazy import Array


def derived(declare: Callable[[type[RowT]], type[RowT]], name: str, base: type[RowT], row: type[SchemaOp], **members: Any) -> type[RowT]:
    """Declares the operator of a dialect that computes of one or two tensors what a row computes with its other arguments' defaults.

    Args:
        declare: what takes a class as a row: a `Namespace`, called with a schema.
        name: that of the class, in the words of the vendor, without `Op` at its end: `hardswish_node`.
        base: the class of the family, which infers types.
        row: says in words and by numpy what is computed.
        members: others of the class, which come before those of the row; `__module__` is that of the dialect.
    """
    own = {"__doc__": row.__doc__, "numpy": staticmethod(numpy_of(row)), **members}
    return declare(cast("type[RowT]", type(class_name(name), (base,), own)))


def numpy_of(row: type[SchemaOp]) -> Callable[..., Array]:
    """Returns what a row computes of its tensors, one or two, with the defaults of its other arguments."""
    rest = [argument.default for argument in row.schema.arguments if not argument.type.is_tensor]

    def of_one(x: Array, /) -> Array:
        return row.call("numpy", [x, *rest])

    def of_two(a: Array, b: Array, /) -> Array:
        return row.call("numpy", [a, b, *rest])

    return of_one if len(row.schema.arguments) - len(rest) == 1 else of_two
