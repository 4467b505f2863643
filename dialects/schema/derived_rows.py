"""Rows of a backend's dialect that are made of rows of ATen."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from flambeau.dialects.schema.row import RowT, SchemaOp, class_name
from flambeau.support.lazy import Array


def unary(declare: Callable[[type[RowT]], type[RowT]], name: str, base: type[RowT], row: type[SchemaOp], **members: Any) -> type[RowT]:
    """Declares the operator of a dialect that computes of a tensor what a row computes with its other arguments' defaults.

    Args:
        declare: what takes a class as a row: a `Namespace`, called with a schema.
        name: that of the class, in the words of the vendor, without `Op` at its end: `hardswish_node`.
        base: the class of the family, which infers types.
        row: says in words and by numpy what is computed.
        members: others of the class; `__module__` is that of the dialect.
    """
    rest = [argument.default for argument in row.schema.arguments[1:]]

    def numpy(x: Array, /) -> Array:
        return row.call("numpy", [x, *rest])

    own = {"__doc__": row.__doc__, "numpy": staticmethod(numpy), **members}
    return declare(cast("type[RowT]", type(class_name(name), (base,), own)))
