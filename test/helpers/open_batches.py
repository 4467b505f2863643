"""Operators on samples whose first sizes only the run knows, as those of batches."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
from xdsl.ir import Block

from flambeau.dialects.ir.expressions import Symbol, of_symbol
from flambeau.dialects.ir.extents import UndecidedError, extent, is_known
from flambeau.dialects.ir.tensor_types import element_of, shape_of, tensor
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_operations import operation, with_tensors

_OF_SIZES = {"view_copy": "size", "expand_copy": "size", "native_group_norm": "N"}
"""The operators that have a first size among their numbers, with the argument."""


def open_operation(kind: type[SchemaOp], sample: Sequence[Any], fixed: Collection[str]) -> tuple[SchemaOp, Block]:
    """The operation on a sample, where the first size of the operand with most dimensions, and of others as large, is a symbol.

    The arguments `fixed` are constants. Raises UndecidedError where there is no such size, VerifyException where types do not follow.
    """
    op, block = operation(kind, sample)
    constants = [op.argument(name) for name in fixed]
    others = [value for value in block.args if value not in constants and shape_of(value)]
    size = shape_of(max(others, key=lambda value: len(shape_of(value))))[0] if others else 1
    if size < 2:
        raise UndecidedError("no batch")
    batch = extent(of_symbol(Symbol("batch", 1, 2 * size)))
    kinds = [
        tensor(element_of(value), (batch, *shape_of(value)[1:])) if value in others and shape_of(value)[0] == size else value.type
        for value in block.args
    ]
    renewed = Block(arg_types=kinds)
    arguments = list(with_tensors(sample, lambda number, _: renewed.args[number]))
    for place, argument in enumerate(kind.schema.arguments):
        if argument.name == _OF_SIZES.get(kind.schema.base):
            value = arguments[place]
            arguments[place] = (batch, *value[1:]) if isinstance(value, tuple) and value[0] == size else batch if value == size else value
    return kind(*arguments), renewed


def of_batch(arrays: Sequence[Array], block: Block, size: int) -> list[Array]:
    """The arrays of a sample with so many entries where the first size is a symbol; they are repeated to fill them."""
    return [
        array if all(map(is_known, shape_of(value)[:1])) else array.take(np.arange(size) % len(array), 0)
        for array, value in zip(arrays, block.args, strict=True)
    ]
