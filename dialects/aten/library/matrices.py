"""Helpers of operators of linear algebra on matrices in the last two dimensions, which compute in double precision."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.ir.extents import differ
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

FLOATS: frozenset[Attribute] = frozenset({f32, f64})
"""The element types that matrices are factored in."""


class MatrixOp(SchemaOp):
    """An operator on matrices in the last two dimensions of a batch."""

    takes = FLOATS


def matrices(x: Tensor) -> tuple[int, ...]:
    """Returns the shape of a batch of matrices. Raises ValueError for fewer than two dimensions."""
    shape = shape_of(x)
    if len(shape) < 2:
        raise ValueError(f"the tensor must hold matrices, which have 2 dimensions, got shape {list(shape)}")
    return shape


def square_matrices(x: Tensor) -> tuple[int, ...]:
    """Returns the shape of a batch of square matrices. Raises ValueError."""
    shape = matrices(x)
    if differ(shape[-1], shape[-2]):
        raise ValueError(f"the matrices must be square, got shape {list(shape)}")
    return shape


def tensor_of_floats(element: Attribute, shape: Sequence[int]) -> Tensor:
    """Returns the type of a result that is computed in floating point. Raises TypeError for other element types."""
    if element not in FLOATS:
        raise TypeError(f"linear algebra needs float32 or float64 tensors, got {dtype_of(element).torch}")
    return tensor(element, shape)


def like(x: Tensor, shape: Sequence[int] | None = None) -> Tensor:
    """Returns the type of a result of the element type of `x`. Raises TypeError for types that linear algebra is not computed in."""
    return tensor_of_floats(element_of(x), shape_of(x) if shape is None else shape)


def batch_of(*operands: Tensor) -> tuple[int, ...]:
    """Returns the batch dimensions to which the batch dimensions of several operands broadcast. Raises ValueError."""
    return broadcast(*(matrices(x)[:-2] for x in operands))


def transposed(x: SSAValue) -> SSAValue:
    """Returns the matrices with rows and columns exchanged."""
    return aten.transpose.int(x, -2, -1)


def identity_like(x: SSAValue) -> SSAValue:
    """Returns the identity of the size and type of square matrices."""
    return aten.eye(shape_of(x)[-1], dtype=element_of(x))


def each_matrix(*operands: Array) -> Iterator[list[Array]]:
    """Yields the matrices at each place of the batch that the operands broadcast to, as double-precision copies."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in operands))
    spread = [np.broadcast_to(x, (*batch, *x.shape[-2:])) for x in operands]
    for place in np.ndindex(*batch):
        yield [np.array(x[place], np.float64) for x in spread]


def over_batch(function: Callable[..., Any], rank: int, *operands: Array) -> Array:
    """Returns `function` of the matrices at each place of a batch, arrays of `rank` dimensions, in the first operand's type."""
    batch = np.broadcast_shapes(*(x.shape[:-2] for x in operands))
    with np.errstate(all="ignore"):
        found = [function(*each) for each in each_matrix(*operands)]
        own = found[0].shape if found else function(*(np.zeros(x.shape[-2:]) for x in operands)).shape
        assert len(own) == rank
        return np.array(found, np.float64).reshape(*batch, *own).astype(operands[0].dtype)
