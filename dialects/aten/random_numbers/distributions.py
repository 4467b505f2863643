"""Operators that draw numbers from distributions, and indices by their weights."""

from __future__ import annotations

import math
from typing import Any

from xdsl.dialects.builtin import f32, f64, i64
from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.library.formulas import Traced
from flambeau.dialects.aten.library.formulas import functions as np
from flambeau.dialects.aten.library.numerics import cast_to, element_of_array
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.library.philox import stream
from flambeau.dialects.aten.random_numbers.random import DrawnOp
from flambeau.dialects.ir.extents import exceeds
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, dtype_of, element_of, shape_of, tensor
from flambeau.dialects.schema.families import FLOATS, chosen_element, require_category
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array


class DistributedOp(SchemaOp):
    """Random tensors with the shape and type of the operand: each element is a function of one random number."""

    takes = FLOATS
    random = True
    normal = False
    """Whether normally distributed numbers are drawn, not numbers from 0 up to but without 1 that are equally likely."""

    @staticmethod
    def check(first: float, second: float) -> None:
        """Raises ValueError for parameters of which there is no such distribution."""

    @staticmethod
    def formula(drawn: Any, first: float, second: float) -> Any:
        """Returns the function, in numpy's functions, of drawn numbers and the parameters of the distribution."""
        raise NotImplementedError

    @classmethod
    def infer(cls, x: Tensor, first: float, second: float = 0, /) -> Tensor:
        cls.check(first, second)
        if dtype_of(element_of(x)).category not in (1, 2):
            raise TypeError(f"drawing numbers is not defined for {dtype_of(element_of(x)).torch} tensors")
        return tensor(element_of(x), shape_of(x))

    @classmethod
    def numpy(cls, x: Array, first: float, second: float = 0, /) -> Array:
        return cls.drawn_numbers(x.shape, element_of_array(x), first, second)

    @classmethod
    def decompose(cls, x: SSAValue, first: float, second: float = 0, /) -> SSAValue:
        return cls.drawn_values(shape_of(x), element_of(x), first, second)

    @classmethod
    def drawn_numbers(cls, shape: tuple[int, ...], element: Attribute, first: float, second: float) -> Array:
        """Returns as many random numbers as a shape has elements."""
        drawn_in = element if dtype_of(element).category == 2 else f32
        draw = stream().normal if cls.normal else stream().uniform
        drawn = cast_to(draw(shape, drawn_in), drawn_in).astype(np.float64)
        with np.errstate(all="ignore"):
            return cast_to(np.asarray(cls.formula(drawn, first, second)), element)

    @classmethod
    def drawn_values(cls, shape: tuple[int, ...], element: Attribute, first: float, second: float) -> SSAValue:
        """Returns the same in operations."""
        drawn_in = element if dtype_of(element).category == 2 else f32
        drawn = to_element((aten.randn if cls.normal else aten.rand)(shape, drawn_in), f64)
        return to_element(cls.formula(Traced(drawn), first, second).value, element)


@aten("uniform(Tensor self, float from=0., float to=1., *, Generator? generator=None) -> Tensor")
class UniformOp(DistributedOp):
    """Uniformly distributed numbers in [from, to), with the shape and type of the operand."""

    random = True

    @staticmethod
    def check(first: float, second: float) -> None:
        if not -math.inf < first <= second < math.inf:
            raise ValueError(f"numbers must be drawn between two finite ones that are in order, got {first} and {second}")

    @staticmethod
    def formula(drawn: Any, first: float, second: float) -> Any:
        return drawn * (second - first) + first


@aten("exponential(Tensor self, float lambd=1., *, Generator? generator=None) -> Tensor")
class ExponentialOp(DistributedOp):
    """Exponentially distributed numbers of mean 1 / lambd, with the shape and type of the operand."""

    random = True

    @staticmethod
    def check(first: float, second: float) -> None:
        if not first > 0:
            raise ValueError(f"lambd must be above 0, got {first}")

    @staticmethod
    def formula(drawn: Any, first: float, second: float) -> Any:
        return np.log1p(-drawn) * (-1 / first)


@aten("geometric(Tensor self, float p, *, Generator? generator=None) -> Tensor")
class GeometricOp(DistributedOp):
    """Geometrically distributed numbers: the number of trials until the first success, each with probability p."""

    takes = None
    random = True

    @staticmethod
    def check(first: float, second: float) -> None:
        if not 0 < first < 1:
            raise ValueError(f"p must be between 0 and 1, got {first}")

    @staticmethod
    def formula(drawn: Any, first: float, second: float) -> Any:
        return np.floor(np.log1p(-drawn) * (1 / math.log1p(-first))) + 1.0


class TrialsOp(SchemaOp):
    """Random tensors of 1 where a trial succeeds and 0 elsewhere."""

    random = True

    @staticmethod
    def infer(x: Tensor, p: Tensor | float, /) -> Tensor:
        if isinstance(p, float | int):
            if not 0 <= p <= 1:
                raise ValueError(f"p must be a probability, got {p}")
        else:
            require_category("a probability", p, at_least=2)
            if broadcast(shape_of(x), shape_of(p)) != shape_of(x):
                raise ValueError(f"probabilities {list(shape_of(p))} do not broadcast to {list(shape_of(x))}")
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, p: Array | float, /) -> Array:
        return (stream().uniform(x.shape, f32).astype("float64") < p).astype(x.dtype)

    @staticmethod
    def decompose(x: SSAValue, p: SSAValue | float, /) -> SSAValue:
        drawn = to_element(aten.rand(shape_of(x), f32), f64)
        succeeds = aten.lt.Tensor(drawn, to_element(p, f64)) if isinstance(p, SSAValue) else aten.lt.Scalar(drawn, float(p))
        return to_element(succeeds, element_of(x))


@aten("bernoulli.p(Tensor self, float p, *, Generator? generator=None) -> Tensor")
class BernoulliPOp(TrialsOp):
    """1 with probability p, else 0, with the shape and type of the operand."""

    random = True


@aten("bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor")
class BernoulliTensorOp(TrialsOp):
    """1 with the probability in the tensor `p`, else 0, with the shape and type of the first operand."""

    random = True


@aten("bernoulli(Tensor self, *, Generator? generator=None) -> Tensor")
class BernoulliOp(SchemaOp):
    """1 with the probability that the operand's element holds, else 0."""

    takes = FLOATS
    random = True

    @staticmethod
    def infer(x: Tensor, /) -> Tensor:
        return tensor(element_of(x), shape_of(x))

    @staticmethod
    def numpy(x: Array, /) -> Array:
        return TrialsOp.numpy(x, x)

    @staticmethod
    def decompose(x: SSAValue, /) -> SSAValue:
        return TrialsOp.decompose(x, x)


@aten("cauchy(Tensor self, float median=0., float sigma=1., *, Generator? generator=None) -> Tensor")
class CauchyOp(DistributedOp):
    """Cauchy-distributed numbers, with the shape and type of the operand."""

    random = True

    @staticmethod
    def check(first: float, second: float) -> None:
        if not second > 0:
            raise ValueError(f"sigma must be above 0, got {second}")

    @staticmethod
    def formula(drawn: Any, first: float, second: float) -> Any:
        return np.tan((drawn - 0.5) * math.pi) * second + first


class NormalOp(DistributedOp):
    """Normally distributed numbers, with the shape and type of the operand."""

    normal = True

    @staticmethod
    def check(first: float, second: float) -> None:
        if not second >= 0:
            raise ValueError(f"std must not be below 0, got {second}")

    @staticmethod
    def formula(drawn: Any, first: float, second: float) -> Any:
        return drawn * second + first


@aten("normal_functional(Tensor self, float mean=0., float std=1., *, Generator? generator=None) -> Tensor")
class NormalFunctionalOp(NormalOp):
    """Normally distributed numbers, with the shape and type of the operand."""

    random = True


@aten("log_normal(Tensor self, float mean=1., float std=2., *, Generator? generator=None) -> Tensor")
class LogNormalOp(NormalOp):
    """Numbers whose logarithms are normally distributed, with the shape and type of the operand."""

    random = True

    @staticmethod
    def formula(drawn: Any, first: float, second: float) -> Any:
        return np.exp(drawn * second + first)


@aten(
    "normal.float_float(float mean, float std, SymInt[] size, *, Generator? generator=None, ScalarType? dtype=None, "
    "Layout? layout=None, Device? device=None, bool? pin_memory=None) -> Tensor"
)
class NormalFloatFloatOp(SchemaOp):
    """Normally distributed numbers of shape `size`, with one mean and one standard deviation."""

    random = True

    @staticmethod
    def infer(mean: float, std: float, size: tuple[int, ...], dtype: Attribute | None) -> Tensor:
        NormalOp.check(mean, std)
        return DrawnOp.infer(size, dtype)

    @staticmethod
    def numpy(mean: float, std: float, size: tuple[int, ...], dtype: Attribute | None) -> Array:
        return NormalOp.drawn_numbers(size, chosen_element(dtype, f32), mean, std)

    @staticmethod
    def decompose(mean: float, std: float, size: tuple[int, ...], dtype: Attribute | None) -> SSAValue:
        return NormalOp.drawn_values(size, chosen_element(dtype, f32), mean, std)


@aten("multinomial(Tensor self, SymInt num_samples, bool replacement=False, *, Generator? generator=None) -> Tensor")
class MultinomialOp(SchemaOp):
    """Indices drawn from each row of weights, with probabilities proportional to the weights; without replacement, all are different."""

    takes = FLOATS
    random = True

    @staticmethod
    def infer(x: Tensor, /, num_samples: int, replacement: bool) -> Tensor:
        shape = shape_of(x)
        if len(shape) not in (1, 2):
            raise ValueError(f"weights must have one or two dimensions, got {len(shape)}")
        if exceeds(1, num_samples):
            raise ValueError(f"at least one place must be drawn, got {num_samples}")
        if exceeds(1, shape[-1]) or (not replacement and exceeds(num_samples, shape[-1])):
            raise ValueError(f"{num_samples} of {shape[-1]} places cannot be drawn{'' if replacement else ' without replacement'}")
        return tensor(i64, (*shape[:-1], num_samples))

    @staticmethod
    def numpy(x: Array, /, num_samples: int, replacement: bool) -> Array:
        weights = x.astype(np.float64)
        if not replacement:
            with np.errstate(all="ignore"):
                keys = weights / -np.log1p(-stream().uniform(x.shape, f64))
            return np.argsort(-keys, axis=-1, kind="stable")[..., :num_samples].astype(np.int64)
        total = np.cumsum(weights, axis=-1)
        drawn = stream().uniform((*x.shape[:-1], num_samples), f64) * total[..., -1:]
        found = (total[..., None, :] <= drawn[..., :, None]).sum(-1)
        return np.minimum(found, x.shape[-1] - 1).astype(np.int64)

    @staticmethod
    def decompose(x: SSAValue, /, num_samples: int, replacement: bool) -> SSAValue:
        shape = shape_of(x)
        weights = to_element(x, f64)
        if not replacement:
            keys = aten.div.Tensor(weights, aten.neg(aten.log1p(aten.neg(aten.rand(shape, f64)))))
            return aten.slice.Tensor(aten.sort.results(keys, -1, True)[1], -1, 0, num_samples)
        total = aten.cumsum(weights, -1)
        last = aten.slice.Tensor(total, -1, shape[-1] - 1, shape[-1])
        drawn = aten.mul.Tensor(aten.rand((*shape[:-1], num_samples), f64), last)
        return aten.clamp(aten.searchsorted.Tensor(total, drawn, right=True), 0, shape[-1] - 1)
