"""Comparisons, products, moves and reductions of complex tensors in terms of their real and imaginary parts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from xdsl.ir import Attribute, SSAValue

from flambeau.dialects.aten.complex_numbers.complex_arithmetic import (
    Number,
    Operand,
    Pair,
    added,
    conjugate,
    imaginary,
    pairs_of,
    parts_of,
    product,
    truth,
    unequal,
)
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.random_numbers.random import HALF
from flambeau.dialects.ir.tensor_types import dtype_of, element_of, is_complex, normalize_dim, part_of, shape_of
from flambeau.dialects.schema.complex_parts import RULES, Parts, Rule, on_parts
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.operators import find_op

RULES.update(dict.fromkeys(("complex", "view_as_real", "view_as_complex", "_fft_c2c", "_fft_r2c", "_fft_c2r")))


@on_parts("eq.Tensor", "eq.Scalar")
def _equal_rule(a: Operand, b: Operand, /) -> SSAValue:
    return aten.logical_not(_differ_rule(a, b))


@on_parts("ne.Tensor", "ne.Scalar")
def _differ_rule(a: Operand, b: Operand, /) -> SSAValue:
    found = [part for part in map(unequal, *pairs_of(a, b)) if part is not None]
    return aten.logical_or(*found) if len(found) == 2 else found[0]


@on_parts("logical_not")
def _not_rule(x: Parts, /) -> SSAValue:
    return aten.logical_not(truth(x))


def _on_truth(name: str) -> Rule:
    def rule(*arguments: Any) -> SSAValue:
        kind = find_op(f"aten.{name}")
        assert kind is not None
        return kind(*(truth(cast(Operand, item)) if isinstance(item, Parts | SSAValue) else item for item in arguments)).result

    return rule


RULES.update(
    {name: _on_truth(name) for name in ("logical_and", "logical_or", "logical_xor", "any", "any.dim", "any.dims", "all", "all.dim")}
)


def _on_either(name: str, join: str) -> Rule:
    def rule(x: Parts, /) -> SSAValue:
        function = getattr(aten, name)
        return getattr(aten, join)(function(x.real), function(imaginary(x)))

    return rule


RULES.update({"isnan": _on_either("isnan", "logical_or"), "isinf": _on_either("isinf", "logical_or")})
RULES.update({"isfinite": _on_either("isfinite", "logical_and")})


@on_parts("where.self")
def _where_rule(condition: SSAValue, a: Operand, b: Operand, /) -> Parts:
    (x, y) = pairs_of(a, b)
    return Parts(*(aten.where.self(condition, *(_as_tensor(item, x, y) for item in pair)) for pair in zip(x, y, strict=True)))


def _as_tensor(x: Number, *pairs: Pair) -> SSAValue:
    known = next(item for pair in pairs for item in pair if isinstance(item, SSAValue))
    return x if isinstance(x, SSAValue) else aten.full((), x or 0.0, element_of(known))


@on_parts("_to_copy")
def converted(x: Operand, /, dtype: Attribute | None) -> Parts | SSAValue:
    """Numbers in another element type; the real parts where it is not complex."""
    if not isinstance(x, Parts):
        assert isinstance(x, SSAValue) and dtype is not None
        return Parts(to_element(x, part_of(dtype)), None)
    if dtype is None:
        return x
    if dtype_of(dtype).category == 0:
        return truth(x)
    if not is_complex(dtype):
        return to_element(x.real, dtype)
    element = part_of(dtype)
    return Parts(to_element(x.real, element), None if x.imaginary is None else to_element(x.imaginary, element))


def _each_part(x: Any, index: int) -> Any:
    """An argument of the operator that computes the real parts (0) or the imaginary ones (1)."""
    if isinstance(x, Parts):
        return imaginary(x) if index else x.real
    if isinstance(x, list | tuple) and any(isinstance(item, Parts) for item in cast("Sequence[Any]", x)):
        pairs = [parts_of(*pair) for pair in pairs_of(*cast("Sequence[Operand]", x))]
        return [imaginary(pair) if index else pair.real for pair in pairs]
    return part_of(x) if isinstance(x, Attribute) else cast(Any, x)


def _on_each(name: str, numbers: int = 0) -> Rule:
    """The rule of operators that compute real and imaginary parts alike; the first `numbers` tensors may be real ones."""

    def rule(*given: Any) -> list[Any]:
        kind = find_op(f"aten.{name}")
        assert kind is not None
        arguments: list[Any] = [
            Parts(cast(SSAValue, item), None) if index < numbers and isinstance(item, SSAValue) else item
            for index, item in enumerate(given)
        ]
        for place, argument in enumerate(kind.schema.arguments):
            if argument.name == "dtype" and arguments[place] is not None:
                # What is added up is converted first.
                arguments[0], arguments[place] = converted(arguments[0], arguments[place]), None
                if not isinstance(arguments[0], Parts):
                    return [kind(*arguments[:place], given[place], *arguments[place + 1 :]).result]
        found = [kind(*(_each_part(item, index) for item in arguments)).results for index in (0, 1)]
        return [Parts(real, imaginary) for real, imaginary in zip(*found, strict=True)]

    return rule


_ALIKE = """neg alias clone detach lift_fresh_copy contiguous view reshape expand permute transpose.int t unsqueeze squeeze squeeze.dim
squeeze.dims slice.Tensor select.int narrow split.Tensor split_with_sizes unbind.int cat stack flip roll repeat diagonal as_strided unfold
index_select gather index_put scatter.src scatter_add index_add masked_scatter
tril triu diag_embed sum sum.dim_IntList mean mean.dim cumsum reflection_pad1d reflection_pad2d reflection_pad3d
replication_pad1d replication_pad2d replication_pad3d"""
RULES.update({name: _on_each(name) for name in _ALIKE.split()})
RULES.update({name: _on_each(name, 2) for name in ("slice_scatter", "select_scatter", "diagonal_scatter")})


@on_parts("copy")
def _copy_rule(x: Operand, source: Operand, /) -> Parts | SSAValue:
    ((real, imaginary),) = pairs_of(source)
    if not isinstance(x, Parts):
        return aten.copy(x, real)
    return Parts(aten.copy(x.real, real), None if imaginary is None else aten.copy(x.real, imaginary))


@on_parts("index.Tensor")
def _index_rule(x: Parts, /, indices: Sequence[SSAValue | None]) -> SSAValue:
    # Masks give a size that only the run knows, and that two results would not be known to share.
    return aten.view_as_complex(aten.index.Tensor(aten.stack([x.real, imaginary(x)], -1), indices))


def _real_only(name: str) -> Rule:
    """The rule of operators that fill with a number: it is the real part, and the imaginary one is 0."""

    def rule(*arguments: Any) -> Parts | SSAValue:
        kind = find_op(f"aten.{name}")
        assert kind is not None
        if any(isinstance(item, Attribute) and not is_complex(item) for item in arguments):
            return kind(*(_each_part(item, 0) for item in arguments)).result
        schema = kind.schema.arguments
        zero = [0.0 if argument.type.base == "Scalar" else item for argument, item in zip(schema, arguments, strict=True)]
        real = kind(*(_each_part(item, 0) for item in arguments)).result
        return Parts(real, kind(*(_each_part(item, 1) for item in zero)).result)

    return rule


_FILLING = "full full_like scalar_tensor empty.memory_format fill.Scalar constant_pad_nd scatter.value"
RULES.update({name: _real_only(name) for name in _FILLING.split()})


def _drawn(name: str) -> Rule:
    """The rule of random numbers, whose parts are drawn one after the other."""

    def rule(size: Sequence[int], dtype: Attribute) -> Parts:
        pairs = getattr(aten, name)((*size, 2), part_of(dtype))
        pairs = aten.mul.Scalar(pairs, HALF) if name == "randn" else pairs
        return Parts(*(aten.select.int(pairs, -1, part) for part in range(2)))

    return rule


RULES.update({"rand": _drawn("rand"), "randn": _drawn("randn")})


def _bilinear(name: str) -> Rule:
    """The rule of products, linear in their first two operands."""

    def rule(a: Parts, b: Parts, /) -> Parts:
        function = getattr(aten, name)
        real = function(a.real, b.real)
        if a.imaginary is not None and b.imaginary is not None:
            real = aten.sub.Tensor(real, function(a.imaginary, b.imaginary))
        first = None if b.imaginary is None else function(a.real, b.imaginary)
        second = None if a.imaginary is None else function(a.imaginary, b.real)
        return parts_of(real, added(first, second))

    return rule


RULES.update({"mm": _bilinear("mm"), "bmm": _bilinear("bmm")})


@on_parts("vdot")
def _vdot_rule(a: Parts, b: Parts, /) -> SSAValue:
    whole = [aten.complex(x.real, imaginary(x)) for x in (conjugate(a), b)]
    return aten.dot(*whole)


@on_parts("prod.dim_int")
def _prod_rule(x: Parts, /, dim: int, keepdim: bool, dtype: Attribute | None) -> Parts | SSAValue:
    if dtype is not None:
        cast_to = converted(x, dtype)
        return _prod_rule(cast_to, dim, keepdim, None) if isinstance(cast_to, Parts) else aten.prod.dim_int(cast_to, dim, keepdim, dtype)
    dim = normalize_dim(dim, len(shape_of(x.real)))
    if not shape_of(x.real):
        return x
    left = (x.real, imaginary(x))
    while (extent := shape_of(left[0])[dim]) > 1:
        half = extent // 2
        low, high = ([aten.slice.Tensor(part, dim, start, start + half) for part in left] for start in (0, half))
        found = cast("tuple[SSAValue, SSAValue]", product((low[0], low[1]), (high[0], high[1])))
        rest = [aten.slice.Tensor(part, dim, 2 * half, extent) for part in left] if extent % 2 else None
        left = found if rest is None else (aten.cat([found[0], rest[0]], dim), aten.cat([found[1], rest[1]], dim))
    if extent == 0:
        shape = tuple(1 if axis == dim else size for axis, size in enumerate(shape_of(left[0])))
        left = aten.full(shape, 1.0, element_of(x.real)), aten.full(shape, 0.0, element_of(x.real))
    return Parts(*(part if keepdim else aten.squeeze.dim(part, dim) for part in left))


@on_parts("prod")
def _prod_all_rule(x: Parts, /, dtype: Attribute | None) -> Parts | SSAValue:
    return _prod_rule(Parts(aten.view(x.real, (-1,)), aten.view(imaginary(x), (-1,))), 0, False, dtype)
