"""Functions of the elements of tensors."""

from __future__ import annotations

from typing import Any

from xdsl.dialects.builtin import f16
from xdsl.ir import Attribute

from flambeau.backends.coreml.dialect.operators import BinaryMilOp, MilOp, UnaryMilOp, coreml, like, require_like, widened
from flambeau.dialects.aten.elementwise.arithmetic import AddTensorOp, DivTensorOp, MulTensorOp, SubTensorOp
from flambeau.dialects.aten.elementwise.comparison import MaximumOp, MinimumOp
from flambeau.dialects.aten.elementwise.math import AbsOp, CeilOp, CosOp, ErfOp, ExpOp, FloorOp, SinOp, SqrtOp
from flambeau.dialects.aten.elementwise.pow import PowTensorTensorOp
from flambeau.dialects.aten.layers.activation import EluOp, GeluOp, LeakyReluOp, ReluOp, SigmoidOp, SiluOp, TanhOp
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, element_of, f32, i1, i32, i64, shape_of, tensor
from flambeau.dialects.schema.derived_rows import derived, numpy_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np


def _derived(schema: str, base: type[MilOp], row: type[SchemaOp], meaning: str | None) -> Any:
    said = {} if meaning is None else {"__doc__": meaning}
    name = f"{schema.partition('(')[0]}_mil"
    return derived(coreml(schema), name, base, row, numpy=staticmethod(widened(numpy_of(row))), __module__=__name__, **said)


UNARY: dict[str, type[UnaryMilOp]] = {
    row.schema.base: _derived(f"{row.schema.base}(Tensor x) -> Tensor", UnaryMilOp, row, None)
    for row in (AbsOp, CeilOp, CosOp, ErfOp, ExpOp, FloorOp, ReluOp, SigmoidOp, SiluOp, SinOp, SqrtOp, TanhOp)
}
"""The operators that compute what an operator of the edge level does, by its name. Converters, the table and samples follow from it."""

ARITHMETIC: dict[str, type[BinaryMilOp]] = {
    row.schema.base: _derived(f"{name}(Tensor x, Tensor y) -> Tensor", BinaryMilOp, row, meaning)
    for name, row, meaning in (
        ("add", AddTensorOp, "x + y."),
        ("sub", SubTensorOp, "x - y."),
        ("mul", MulTensorOp, "x * y."),
        ("real_div", DivTensorOp, "x / y."),
    )
}
"""The operators of two tensors, by the names of the operators of tensors and of a tensor and a number."""
BINARY: dict[str, type[BinaryMilOp]] = {
    row.schema.base: _derived(f"{row.schema.base}(Tensor x, Tensor y) -> Tensor", BinaryMilOp, row, meaning)
    for row, meaning in ((MaximumOp, "The larger of x and y."), (MinimumOp, "The smaller of x and y."))
}
"""The other operators of two tensors that compute what an operator of the edge level does, by its name."""
PowMilOp: type[BinaryMilOp] = _derived("pow(Tensor x, Tensor y) -> Tensor", BinaryMilOp, PowTensorTensorOp, "x to the power of y.")

ELEMENTS: dict[str, Attribute] = {"fp16": f16, "fp32": f32, "int32": i32, "bool": i1}
"""The types of elements that a cast knows, by their names."""
AT_BORDERS: dict[str, Attribute] = {**ELEMENTS, "int64": i64}
"""Those that a cast at the border of a model knows."""


@coreml("cast(Tensor x, *, str dtype) -> Tensor")
class CastMilOp(MilOp):
    """x as elements of another type.

    Integers of 64 bits and booleans are inputs and outputs of models, which Core ML has as integers of 32 bits. A cast between these and
    an input or output is not in the model: its runtime makes it.
    """

    takes = frozenset((f16, f32, i32, i64, i1))

    @staticmethod
    def infer(x: Tensor, /, dtype: str) -> Tensor:
        if dtype not in AT_BORDERS or (dtype == "int64" and element_of(x) != i32):
            raise ValueError(f"dtype is one of {', '.join(ELEMENTS)}, or int64 of an output of int32, not {dtype!r}")
        return tensor(AT_BORDERS[dtype], shape_of(x))

    @staticmethod
    def numpy(x: Array, /, dtype: str) -> Array:
        kinds = {"fp16": np.float16, "fp32": np.float32, "int32": np.int32, "bool": np.bool_, "int64": np.int64}
        with np.errstate(over="ignore"):  # numbers beyond float16 become infinite
            return x.astype(kinds[dtype])


@coreml("clip(Tensor x, *, float alpha, float beta) -> Tensor")
class ClipMilOp(MilOp):
    """x, limited to the range from `alpha` to `beta`."""

    @staticmethod
    def infer(x: Tensor, /, alpha: float, beta: float) -> Tensor:
        if not alpha <= beta:
            raise ValueError(f"the result is limited to [{alpha}, {beta}], which holds nothing")
        return like(x, shape_of(x))

    @staticmethod
    @widened
    def numpy(x: Array, /, alpha: float, beta: float) -> Array:
        return np.minimum(np.maximum(x, np.float32(alpha)), np.float32(beta))


@coreml("elu(Tensor x, *, float alpha) -> Tensor")
class EluMilOp(UnaryMilOp):
    """x where x is above 0, alpha * (exp(x) - 1) elsewhere."""

    @staticmethod
    @widened
    def numpy(x: Array, /, alpha: float) -> Array:
        return EluOp.numpy(x, alpha, 1, 1)


@coreml("gelu(Tensor x, *, str mode) -> Tensor")
class GeluMilOp(MilOp):
    """x times the normal distribution function of x, computed by erf (`EXACT`), or approximated by tanh (`TANH_APPROXIMATION`)."""

    @staticmethod
    def infer(x: Tensor, /, mode: str) -> Tensor:
        if mode not in ("EXACT", "TANH_APPROXIMATION"):
            raise ValueError(f"mode is EXACT or TANH_APPROXIMATION, not {mode!r}")
        return like(x, shape_of(x))

    @staticmethod
    @widened
    def numpy(x: Array, /, mode: str) -> Array:
        return GeluOp.numpy(x, "none" if mode == "EXACT" else "tanh")


@coreml("leaky_relu(Tensor x, *, float alpha) -> Tensor")
class LeakyReluMilOp(UnaryMilOp):
    """x where x is above 0, alpha * x elsewhere."""

    @staticmethod
    @widened
    def numpy(x: Array, /, alpha: float) -> Array:
        return LeakyReluOp.numpy(x, alpha)


@coreml("log(Tensor x, *, float epsilon) -> Tensor")
class LogMilOp(UnaryMilOp):
    """The natural logarithm of x + epsilon."""

    @staticmethod
    @widened
    def numpy(x: Array, /, epsilon: float) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(x + np.float32(epsilon))


@coreml("rsqrt(Tensor x, *, float epsilon) -> Tensor")
class RsqrtMilOp(UnaryMilOp):
    """1 divided by the square root of x + epsilon."""

    @staticmethod
    @widened
    def numpy(x: Array, /, epsilon: float) -> Array:
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.float32(1) / np.sqrt(x + np.float32(epsilon))


@coreml("sigmoid_hard(Tensor x, *, float alpha, float beta) -> Tensor")
class SigmoidHardMilOp(UnaryMilOp):
    """alpha * x + beta, limited to the range from 0 to 1."""

    @staticmethod
    @widened
    def numpy(x: Array, /, alpha: float, beta: float) -> Array:
        return np.minimum(np.maximum(x * np.float32(alpha) + np.float32(beta), np.float32(0)), np.float32(1))


@coreml("select(Tensor cond, Tensor a, Tensor b) -> Tensor")
class SelectMilOp(MilOp):
    """Elements of a where `cond` is true, elements of b elsewhere; a and b say the shape."""

    takes = frozenset((i1,))

    @staticmethod
    def infer(cond: Tensor, a: Tensor, b: Tensor, /) -> Tensor:
        require_like(a, b)
        shape = broadcast(shape_of(a), shape_of(b))
        if broadcast(shape_of(cond), shape) != shape:
            raise ValueError(f"cond {list(shape_of(cond))} is not broadcast to {list(shape)}")
        return like(a, shape)

    @staticmethod
    def numpy(cond: Array, a: Array, b: Array, /) -> Array:
        return np.where(cond, a, b)
