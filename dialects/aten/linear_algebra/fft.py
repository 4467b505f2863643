"""Discrete Fourier transforms over some dimensions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from xdsl.dialects.builtin import f32, f64
from xdsl.ir import SSAValue

from flambeau.dialects.aten.complex_numbers.complex_families import StayingOp
from flambeau.dialects.aten.library.numerics import element_of_array
from flambeau.dialects.aten.library.operands import as_operand
from flambeau.dialects.aten.movement.shape import normalize_dims
from flambeau.dialects.ir.extents import differ, is_known
from flambeau.dialects.ir.tensor_types import Tensor, complex_of, element_of, numpy_dtype, part_of, shape_of, tensor
from flambeau.dialects.schema.families import require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.support.lazy import Array, np

NORMALIZATIONS = (None, "ortho", "full")
"""By PyTorch's number: the sums as they are, divided by the root of how many numbers each adds up, or by that number."""


def transformed_dims(x: Tensor, dims: Sequence[int]) -> tuple[int, ...]:
    """Returns the dimensions, counted from the front. Raises ValueError for none and for empty ones, IndexError for absent ones."""
    shape = shape_of(x)
    if not dims or not shape:
        raise ValueError("a transform needs a dimension")
    if any(is_known(extent) and extent == 0 for extent in shape):
        raise ValueError(f"a transform needs numbers, got shape {list(shape)}")
    return normalize_dims(dims, len(shape))


def require_normalization(normalization: int) -> None:
    """Raises ValueError for a number that names no normalization."""
    if normalization not in range(len(NORMALIZATIONS)):
        raise ValueError(f"normalization must be 0, 1 or 2, got {normalization}")


def scaled_by(x: Array, count: int, normalization: int) -> Array:
    """Returns the sums of `count` numbers each, as `normalization` says."""
    return x if not normalization else x / (np.sqrt(count) if normalization == 1 else count)


def transformed(x: Array, dims: Sequence[int], normalization: int, forward: bool) -> Array:
    """Returns the transform of complex numbers over `dims`, computed in double precision."""
    found = (np.fft.fftn if forward else np.fft.ifftn)(x.astype(np.complex128), axes=dims, norm="backward" if forward else "forward")
    return scaled_by(found, int(np.prod([x.shape[dim] for dim in dims])), normalization)


def of_both_sides(x: SSAValue, dim: int) -> tuple[SSAValue, SSAValue]:
    """Returns both parts of the transform of real numbers along a dimension, with the half that is the conjugate of the other."""
    count = shape_of(x)[dim]
    pairs = aten.view_as_real(aten._fft_r2c(x, (dim,), 0, True))
    halves = [aten.select.int(pairs, -1, part) for part in (0, 1)]
    if is_known(count) and count < 3:
        return halves[0], halves[1]
    real, imaginary = (aten.flip(aten.slice.Tensor(half, dim, 1, (count + 1) // 2), (dim,)) for half in halves)
    # The two are as many together as there were, which sizes of which the run decides do not show.
    first, second = ((halves[0], real), (halves[1], aten.neg(imaginary)))
    return aten.cat(first, dim, result_types=[x.type]), aten.cat(second, dim, result_types=[x.type])


def of_parts(real: SSAValue, imaginary: SSAValue | None, dims: Sequence[int], normalization: int, forward: bool = True) -> SSAValue:
    """Returns the transform of complex numbers, by transforms of their parts along one dimension after the other."""
    count = math.prod(shape_of(real)[dim] for dim in dims)
    if not forward and imaginary is not None:
        imaginary = aten.neg(imaginary)
    for dim in dims:
        first = of_both_sides(real, dim)
        second = None if imaginary is None else of_both_sides(imaginary, dim)
        real = first[0] if second is None else aten.sub.Tensor(first[0], second[1])
        imaginary = first[1] if second is None else aten.add.Tensor(first[1], second[0])
    assert imaginary is not None
    parts = (real, imaginary if forward else aten.neg(imaginary))
    if not normalization:
        return aten.complex(*parts)
    divisor = as_operand(count, element_of(real))
    if normalization == 1:
        divisor = aten.sqrt(divisor)
    return aten.complex(*(aten.div.Tensor(part, divisor) for part in parts))


def real_on_both_sides(x: SSAValue, dims: Sequence[int], normalization: int, onesided: bool) -> SSAValue:
    """Returns the transform of real numbers with both halves, by transforms that leave one out."""
    return of_parts(x, None, normalize_dims(dims, len(shape_of(x))), normalization)


@aten("_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", keep=True)
class FftC2cOp(StayingOp):
    """The transform of complex numbers, or if not `forward` the inverse transform; `normalization` decides if sums are divided."""

    @staticmethod
    def infer(x: Tensor, /, dim: tuple[int, ...], normalization: int) -> Tensor:
        require_category("_fft_c2c", x, at_least=3)
        require_normalization(normalization)
        if dim:
            transformed_dims(x, dim)
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dim: tuple[int, ...], normalization: int, forward: bool) -> Array:
        return transformed(x, dim, normalization, forward).astype(x.dtype) if dim else x

    @staticmethod
    def decompose(x: SSAValue, /, dim: tuple[int, ...], normalization: int, forward: bool) -> SSAValue:
        pairs = aten.view_as_real(x)
        parts = aten.select.int(pairs, -1, 0), aten.select.int(pairs, -1, 1)
        if not dim:
            return aten.complex(*parts)
        return of_parts(*parts, normalize_dims(dim, len(shape_of(x))), normalization, forward)


@aten("_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", core=True)
class FftR2cOp(StayingOp):
    """The transform of real numbers; `onesided` omits the half along the last of `dim` that is the conjugate of the first half."""

    takes = frozenset({f32, f64})

    @staticmethod
    def infer(x: Tensor, /, dim: tuple[int, ...], normalization: int, onesided: bool) -> Tensor:
        require_normalization(normalization)
        last, shape = transformed_dims(x, dim)[-1], list(shape_of(x))
        if onesided:
            shape[last] = shape[last] // 2 + 1
        return tensor(complex_of(element_of(x)), shape)

    @staticmethod
    def numpy(x: Array, /, dim: tuple[int, ...], normalization: int, onesided: bool) -> Array:
        found: Array = transformed(x, dim, normalization, True)
        if onesided:
            found = np.take(found, range(x.shape[dim[-1]] // 2 + 1), dim[-1])
        return found.astype(numpy_dtype(complex_of(element_of_array(x))))


@aten("_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor", core=True)
class FftC2rOp(StayingOp):
    """The inverse transform to real numbers, `last_dim_size` along the last of `dim`; redundant conjugates there are not read."""

    @staticmethod
    def infer(x: Tensor, /, dim: tuple[int, ...], normalization: int, last_dim_size: int) -> Tensor:
        require_category("_fft_c2r", x, at_least=3)
        require_normalization(normalization)
        last, shape = transformed_dims(x, dim)[-1], list(shape_of(x))
        if last_dim_size < 1:
            raise ValueError(f"last_dim_size must be at least 1, got {last_dim_size}")
        if differ(shape[last], last_dim_size // 2 + 1):
            raise ValueError(
                f"{last_dim_size} real numbers need {last_dim_size // 2 + 1} complex ones along dimension {last}, got {shape[last]}"
            )
        shape[last] = last_dim_size
        return tensor(part_of(element_of(x)), shape)

    @staticmethod
    def numpy(x: Array, /, dim: tuple[int, ...], normalization: int, last_dim_size: int) -> Array:
        wide = transformed(x, dim[:-1], 0, False) if len(dim) > 1 else x.astype(np.complex128)
        found: Array = np.fft.irfft(wide, last_dim_size, axis=dim[len(dim) - 1], norm="forward")
        count = math.prod(found.shape[one] for one in dim)
        return scaled_by(found, count, normalization).astype(numpy_dtype(part_of(element_of_array(x))))
