"""The kernels of eigenvalues and singular values, by what their results satisfy, on matrices that algorithms have trouble with."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from kernel_harness import KernelError, Out, run

from flambeau.support.lazy import Array

pytestmark = pytest.mark.every_library

N = 24


def graded(rng: np.random.Generator) -> Array:
    """Numbers of very different sizes."""
    return rng.normal(size=(N, N)) * 10.0 ** -np.arange(N)


def defective(_: np.random.Generator) -> Array:
    """One eigenvalue with a single vector."""
    return 2 * np.eye(N) + np.eye(N, k=1)


def companion(_: np.random.Generator) -> Array:
    """A cycle, of which steps with the usual shifts change nothing."""
    return np.roll(np.eye(N), 1, 0)


def huge(rng: np.random.Generator) -> Array:
    """Numbers whose squares are infinite."""
    return rng.normal(size=(N, N)) * 1e300


MATRICES: tuple[Callable[[np.random.Generator], Array], ...] = (
    lambda rng: rng.normal(size=(N, N)),
    lambda rng: rng.integers(-1, 2, (N, N)).astype(np.float64),
    lambda rng: rng.normal(size=(N, 3)) @ rng.normal(size=(3, N)),
    lambda rng: np.kron(np.eye(N // 2), rng.normal(size=(2, 2))),
    lambda rng: rng.normal(size=(N, N)) * 1e-310,
    lambda _: np.ones((N, N)),
    lambda _: np.zeros((N, N)),
    graded,
    defective,
    companion,
    huge,
)
each_matrix = pytest.mark.parametrize("matrix", MATRICES, ids=range(len(MATRICES)))


def computed(kernel: str, *arguments: object, outs: list[tuple[tuple[int, ...], torch.dtype]]) -> list[Array]:
    """The results of a kernel."""
    return [result.numpy() for result in run(kernel, *arguments, outs=[Out(*out) for out in outs])]


def assert_near(found: Array, wanted: Array, size: float) -> None:
    """Equal but for errors that are small beside `size`."""
    assert np.abs(found - wanted).max(initial=0) <= 1e-13 * max(found.shape) * size + 5e-324 * N * N


def assert_orthonormal(columns: Array) -> None:
    assert_near(columns.T @ columns, np.eye(columns.shape[1]), 1)


@each_matrix
def test_eigenvalues_of_symmetric_matrices(matrix: Callable[[np.random.Generator], Array]) -> None:
    a = matrix(np.random.default_rng(0)) / 2
    a, size = a + a.T, float(np.abs(a).max())
    values, vectors = computed(
        "aten::_linalg_eigh.eigenvalues",
        torch.tensor(np.tril(a)),
        "L",
        True,
        outs=[((N,), torch.float64), ((N, N), torch.float64)],
    )
    assert (np.diff(values) >= 0).all()
    assert_orthonormal(vectors)
    assert_near(vectors * values @ vectors.T, a, size * N)


@pytest.mark.parametrize("rows, columns", [(N, N), (N, 7), (7, N)])
@each_matrix
def test_singular_values(matrix: Callable[[np.random.Generator], Array], rows: int, columns: int) -> None:
    a = matrix(np.random.default_rng(0))[:rows, :columns]
    least = min(rows, columns)
    outs = [((rows, rows), torch.float64), ((least,), torch.float64), ((columns, columns), torch.float64)]
    left, values, right = computed("aten::_linalg_svd.U", torch.tensor(a), True, True, None, outs=outs)
    assert (np.diff(values) <= 0).all() and (values >= 0).all()
    assert_orthonormal(left)
    assert_orthonormal(right)
    assert_near(left[:, :least] * values @ right[:least], a, float(np.abs(a).max()) * N)


@each_matrix
def test_eigenvalues_of_any_matrix(matrix: Callable[[np.random.Generator], Array]) -> None:
    a = matrix(np.random.default_rng(0))
    outs = [((N,), torch.complex128), ((N, N), torch.complex128)]
    values, vectors = computed("aten::linalg_eig.out", torch.tensor(a), outs=outs)
    scale = float(np.abs(a).max()) or 1
    values = np.asarray(np.real(values) / scale + 1j * (np.imag(values) / scale), np.complex128)
    assert_near(np.linalg.norm(vectors, axis=0), np.ones(N), 1)
    assert_near((a / scale) @ vectors, vectors * values, N)
    assert abs(np.sum(values) - np.trace(a / scale)) <= 1e-12 * N


@pytest.mark.parametrize("number", [np.nan, np.inf, -np.inf])
def test_numbers_that_are_not_finite_are_refused(number: float) -> None:
    a = torch.eye(3, dtype=torch.float64)
    a[1, 1] = number
    line, matrix = ((3,), torch.float64), ((3, 3), torch.float64)
    pairs = [((3,), torch.complex128), ((3, 3), torch.complex128)]
    with pytest.raises(KernelError, match="NaN or infinite"):
        computed("aten::_linalg_eigh.eigenvalues", a, "L", True, outs=[line, matrix])
    with pytest.raises(KernelError, match="NaN or infinite"):
        computed("aten::_linalg_svd.U", a, False, True, None, outs=[matrix, line, matrix])
    with pytest.raises(KernelError, match="NaN or infinite"):
        computed("aten::linalg_eig.out", a, outs=pairs)
