"""Operators that read or sum diagonals, or put tensors on them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import PartwiseOp
from flambeau.dialects.aten.library.numerics import cast_operands, cast_to, element_of_array
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.linear_algebra.triangle import zero_of
from flambeau.dialects.aten.movement.shape import normalize_dims
from flambeau.dialects.aten.reductions.reduction import SumDimIntListOp
from flambeau.dialects.ir.extents import maximum, minimum
from flambeau.dialects.ir.tensor_types import Tensor, element_of, may_equal, promote_operands, same_shape, shape_of, tensor
from flambeau.dialects.schema.families import NUMBERS, promote_values, sum_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def on_diagonal(rows: int, columns: int, offset: int) -> SSAValue:
    """Returns a bool matrix that holds where column - row = offset."""
    return aten.eq.Tensor(aten.unsqueeze(aten.arange.start_step(offset, rows + offset), 1), aten.arange.start_step(0, columns))


def spread(x: SSAValue, rows: int, columns: int, offset: int) -> SSAValue:
    """Returns x reshaped so that, broadcast to a matrix, the elements of its last dimension are on a diagonal, in order."""
    missing = (rows if offset >= 0 else columns) - shape_of(x)[-1]
    padded = aten.constant_pad_nd(x, [0, missing], zero_of(x)) if missing else x
    return aten.unsqueeze(padded, -1 if offset >= 0 else -2)


def placed(x: SSAValue, first: int, second: int) -> SSAValue:
    """Returns the matrices of the last two dimensions of x, moved to dimensions `first` and `second`."""
    rank = len(shape_of(x))
    rest = iter(range(rank - 2))
    order = [rank - 2 if dim == first else rank - 1 if dim == second else next(rest) for dim in range(rank)]
    return x if order == list(range(rank)) else aten.permute(x, order)


@aten("diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
class DiagEmbedOp(PartwiseOp):
    """A matrix in dimensions dim1 and dim2 with the operand's last dimension on its diagonal, zero elsewhere."""

    stores = True

    @staticmethod
    def infer(x: Tensor, /, offset: int, dim1: int, dim2: int) -> Tensor:
        *batch, length = shape_of(x)
        first, second = normalize_dims((dim1, dim2), len(batch) + 2)
        size = length + abs(offset)
        rest = iter(batch)
        return tensor(element_of(x), [size if dim in (first, second) else next(rest) for dim in range(len(batch) + 2)])

    @staticmethod
    def numpy(x: Array, /, offset: int, dim1: int, dim2: int) -> Array:
        first, second = normalize_dims((dim1, dim2), x.ndim + 1)
        size = x.shape[-1] + abs(offset)
        result = np.zeros((*x.shape[:-1], size, size), x.dtype)
        places: Array = np.arange(x.shape[-1], dtype=np.int64)
        result[..., places + max(-offset, 0), places + max(offset, 0)] = x
        return np.moveaxis(result, (-2, -1), (first, second))

    @staticmethod
    def decompose(x: SSAValue, /, offset: int, dim1: int, dim2: int) -> SSAValue:
        size = shape_of(x)[-1] + abs(offset)
        matrix = aten.where.ScalarOther(on_diagonal(size, size, offset), spread(x, size, size, offset), zero_of(x))
        return placed(matrix, *normalize_dims((dim1, dim2), len(shape_of(x)) + 1))


@aten("diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")
class DiagonalScatterOp(PartwiseOp):
    """The tensor with a diagonal replaced by `src`."""

    numbers = 2
    stores = True

    @staticmethod
    def infer(x: Tensor, /, src: Tensor, offset: int, dim1: int, dim2: int) -> Tensor:
        place = shape_of(DiagonalOp.infer(x, offset, dim1, dim2))
        if not may_equal(shape_of(src), place):
            raise ValueError(f"src has shape {list(shape_of(src))}, the diagonal {list(place)}")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, src: Array, offset: int, dim1: int, dim2: int) -> Array:
        result, source = x.copy(), cast_to(src, element_of_array(x))
        first, second = normalize_dims((dim1, dim2), x.ndim)
        plane = np.moveaxis(result, (first, second), (-2, -1))
        places: Array = np.arange(src.shape[-1], dtype=np.int64)
        plane[..., places + max(-offset, 0), places + max(offset, 0)] = source
        return result

    @staticmethod
    def decompose(x: SSAValue, /, src: SSAValue, offset: int, dim1: int, dim2: int) -> SSAValue:
        shape = shape_of(x)
        first, second = normalize_dims((dim1, dim2), len(shape))
        rows, columns = shape[first], shape[second]
        source = placed(spread(to_element(src, element_of(x)), rows, columns, offset), first, second)
        mask = aten.view(on_diagonal(rows, columns, offset), [1] * (len(shape) - 2) + [rows, columns])
        return aten.where.self(placed(mask, first, second), source, x)


@aten("block_diag(Tensor[] tensors) -> Tensor")
class BlockDiagOp(SchemaOp):
    """The tensors as blocks along the diagonal of a matrix, zero elsewhere."""

    stores = True

    @staticmethod
    def blocks(shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """Returns the shapes as matrices. Raises ValueError."""
        if any(len(shape) > 2 for shape in shapes):
            raise ValueError("tensors must have at most two dimensions")
        return [(1,) * (2 - len(shape)) + shape for shape in shapes]

    @staticmethod
    def infer(tensors: list[Tensor]) -> Tensor:
        blocks = BlockDiagOp.blocks([shape_of(x) for x in tensors])
        shape = (sum(block[0] for block in blocks), sum(block[1] for block in blocks))
        return tensor(promote_operands(*tensors), shape)

    @staticmethod
    def numpy(tensors: list[Array]) -> Array:
        blocks = BlockDiagOp.blocks([x.shape for x in tensors])
        parts = [x.reshape(block) for x, block in zip(cast_operands(*tensors), blocks, strict=True)]
        result = np.zeros((sum(part.shape[0] for part in parts), sum(part.shape[1] for part in parts)), parts[0].dtype)
        row = column = 0
        for part in parts:
            result[row : row + part.shape[0], column : column + part.shape[1]] = part
            row, column = row + part.shape[0], column + part.shape[1]
        return result

    @staticmethod
    def decompose(tensors: list[SSAValue]) -> SSAValue:
        blocks = BlockDiagOp.blocks([shape_of(x) for x in tensors])
        element = promote_values(*tensors)
        total, column = sum(block[1] for block in blocks), 0
        rows: list[SSAValue] = []
        for x, block in zip(tensors, blocks, strict=True):
            part = to_element(x if same_shape(shape_of(x), block) else aten.view(x, block), element)
            rows.append(aten.constant_pad_nd(part, [column, total - column - block[1]], zero_of(part)))
            column += block[1]
        return aten.cat(rows, 0)


def diagonal_shape(shape: Sequence[int], offset: int, dim1: int, dim2: int) -> tuple[int, ...]:
    """Returns the shape of a diagonal: the two dimensions go, the diagonal comes last. Raises ValueError, IndexError."""
    first, second = normalize_dims((dim1, dim2), len(shape))
    rest = [extent for dim, extent in enumerate(shape) if dim not in (first, second)]
    length = minimum(shape[first], shape[second] - offset) if offset >= 0 else minimum(shape[first] + offset, shape[second])
    return (*rest, maximum(length, 0))


@aten("diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)", core=True)
class DiagonalOp(PartwiseOp):
    """The diagonal of dimensions dim1 and dim2, `offset` above the main diagonal, as a new last dimension."""

    @staticmethod
    def infer(x: Tensor, /, offset: int, dim1: int, dim2: int) -> Tensor:
        return tensor(element_of(x), diagonal_shape(shape_of(x), offset, dim1, dim2))

    @staticmethod
    def numpy(x: Array, /, offset: int, dim1: int, dim2: int) -> Array:
        return np.diagonal(x, offset, dim1, dim2)


@aten("trace(Tensor self) -> Tensor")
class TraceOp(SchemaOp):
    """The sum of a matrix's main diagonal."""

    takes = NUMBERS

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        if len(shape_of(x)) != 2:
            raise ValueError(f"needs a matrix, got shape {list(shape_of(x))}")
        return tensor(sum_element(element_of(x)), ())

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return SumDimIntListOp.numpy(DiagonalOp.numpy(x, 0, 0, 1), (0,), False, None)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return aten.sum.dim_IntList(aten.diagonal(x), (0,))


@aten("diag(Tensor self, int diagonal=0) -> Tensor")
class DiagOp(SchemaOp):
    """A diagonal of a matrix, or, for a vector, the matrix with this vector on the diagonal."""

    @staticmethod
    def infer(x: Tensor, /, diagonal: int) -> Tensor:
        if len(shape_of(x)) == 1:
            return DiagEmbedOp.infer(x, diagonal, 0, 1)
        if len(shape_of(x)) != 2:
            raise ValueError(f"needs a vector or a matrix, got shape {list(shape_of(x))}")
        return DiagonalOp.infer(x, diagonal, 0, 1)

    @staticmethod
    def numpy(x: Array, /, diagonal: int) -> Array:
        return DiagEmbedOp.numpy(x, diagonal, 0, 1) if x.ndim == 1 else DiagonalOp.numpy(x, diagonal, 0, 1)

    @staticmethod
    def decompose(x: SSAValue, /, diagonal: int) -> SSAValue:
        if len(shape_of(x)) == 1:
            return aten.diag_embed(x, diagonal, 0, 1)
        return aten.diagonal(x, diagonal)
