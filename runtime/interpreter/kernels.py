"""Computes kernels with numpy, by the functions of their rows, and primitives that have no row."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

from flambeau.dialects.exec.instructions import ALIASING, COPY_INDEX, OVERWRITE
from flambeau.dialects.exec.row_kernels import RowKernel, row_kernels
from flambeau.dialects.ir.tensor_types import from_numpy_name
from flambeau.dialects.schema.row_functions import flat_results
from flambeau.support.lazy import Array, np


def compute_kernel(kernel: RowKernel, ins: Sequence[Any], outs: Sequence[Array]) -> Sequence[Array]:
    """Returns the results of a call for its arguments `ins`: arrays, numbers, tuples, None.

    `outs` are the arrays to write; they decide the dtypes of results that the arguments leave open.
    """
    dtype = from_numpy_name(outs[0].dtype.name) if outs else None
    arguments = kernel.arguments(ins, None if dtype is None else dtype.element)
    with np.errstate(all="ignore"):  # infinities and NaN are ordinary results
        computed: Any = kernel.row.call("numpy", arguments)
    return flat_results(computed)


def _size(x: Array, dim: int) -> int:
    return x.shape[dim]


def _choose(condition: bool, a: Any, b: Any) -> Any:
    return a if condition else b


def _divide(a: float, b: float) -> float:
    return a / b


def _floor_divide(a: float, b: float) -> float:
    return a // b


def _same(x: Array, *_: Any) -> Array:
    return x


def _reshaped(x: Array, size: tuple[int, ...]) -> Array:
    return x.reshape(size)


def _copied(target: Array, source: Array, _: Any) -> Array:
    return np.broadcast_to(source, target.shape)


def _copied_at(target: Array, source: Array, index: int) -> Array:
    result = target.copy()
    result[index] = source
    return result


def _put(target: Array, *others: Any) -> Array:
    return compute_kernel(row_kernels()["aten::index_put.out"], (target, *others), (target,))[0]


PRIMITIVES: dict[str, Callable[..., Any]] = {
    "aten::sym_size.int": _size,
    "aten::sym_numel": np.size,
    "aten::_local_scalar_dense": np.ndarray.item,
    "executorch_prim::add.Scalar": operator.add,
    "executorch_prim::sub.Scalar": operator.sub,
    "executorch_prim::mul.Scalar": operator.mul,
    "executorch_prim::floordiv.Scalar": _floor_divide,
    "executorch_prim::floordiv.int": _floor_divide,
    "executorch_prim::truediv.Scalar": _divide,
    "executorch_prim::mod.Scalar": operator.mod,
    "executorch_prim::mod.int": operator.mod,
    "executorch_prim::neg.Scalar": operator.neg,
    "executorch_prim::eq.Scalar": operator.eq,
    "executorch_prim::gt.Scalar": operator.gt,
    "executorch_prim::lt.Scalar": operator.lt,
    "executorch_prim::ge.Scalar": operator.ge,
    "executorch_prim::le.Scalar": operator.le,
    "executorch_prim::sym_float.Scalar": float,
    "executorch_prim::sym_int.Scalar": int,
    "executorch_prim::sym_max.Scalar": max,
    "executorch_prim::sym_min.Scalar": min,
    "executorch_prim::sym_not.Scalar": operator.not_,
    "executorch_prim::sym_ite.Scalar": _choose,
    "executorch_prim::ceil.Scalar": math.ceil,
    "executorch_prim::round.Scalar": round,
    "executorch_prim::trunc.Scalar": math.trunc,
}
"""Kernels from numbers (or a tensor's shape) to a number, which they write to their last argument (ExecuTorch, kernels/prim_ops)."""

TENSOR_PRIMITIVES: dict[str, Callable[..., Array]] = {
    "dim_order_ops::_to_dim_order_copy.out": _same,
    "dim_order_ops::_clone_dim_order.out": _same,
    ALIASING: _reshaped,
    OVERWRITE: _copied,
    "aten::index_put_": _put,
    COPY_INDEX: _copied_at,
}
"""Kernels from tensors to a tensor that no row describes with its calling convention; the out gives the dtype."""
