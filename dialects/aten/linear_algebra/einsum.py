"""Sums of products over named dimensions."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from xdsl.ir import SSAValue

from flambeau.dialects.aten.library.numerics import cast_to, element_of_array, widened
from flambeau.dialects.aten.library.operands import to_element
from flambeau.dialects.aten.movement.permute import permute
from flambeau.dialects.aten.movement.shape import view
from flambeau.dialects.ir.extents import differ, provably_equal
from flambeau.dialects.ir.tensor_types import ElementType, Tensor, broadcast, dtype_of, element_of, may_equal, promote, shape_of, tensor
from flambeau.dialects.schema.families import NUMBERS, reduced_dims, require_same_element, sum_element
from flambeau.dialects.schema.namespace import aten
from flambeau.dialects.schema.row import SchemaOp
from flambeau.support.lazy import Array, np

Label = str
"""The name of a dimension: a letter, or `.k` for dimension k of an ellipsis, counted from the right, from 0."""


def parse_side(text: str, rank: int | None) -> list[Label]:
    """Returns the labels of an operand of this rank; without a rank, the labels of the output, with `...` unchanged. Raises ValueError."""
    letters: list[Label] = []
    rest = text.replace(" ", "")
    while rest:
        if rest.startswith("..."):
            letters.append("...")
            rest = rest[3:]
        elif rest[0].isalpha():
            letters.append(rest[0])
            rest = rest[1:]
        else:
            raise ValueError(f'"{text}" is not a list of dimension names')
    if letters.count("...") > 1:
        raise ValueError(f'"{text}" has more than one ellipsis')
    if rank is None:
        return letters
    hidden = rank - len(letters) + ("..." in letters)
    if hidden < 0 or (hidden and "..." not in letters):
        raise ValueError(f'"{text}" does not name {rank} dimensions')
    return _with_ellipsis(letters, hidden)


def _with_ellipsis(letters: Sequence[Label], hidden: int) -> list[Label]:
    result: list[Label] = []
    for letter in letters:
        result += [f".{hidden - 1 - index}" for index in range(hidden)] if letter == "..." else [letter]
    return result


def parse_equation(equation: str, shapes: Sequence[tuple[int, ...]]) -> tuple[list[list[Label]], list[Label], dict[Label, int]]:
    """Returns the labels of each operand and of the output, and the extent of each label. Raises ValueError."""
    left, arrow, right = equation.partition("->")
    sides = left.split(",")
    if len(sides) != len(shapes):
        raise ValueError(f'"{equation}" names {len(sides)} operands, there are {len(shapes)}')
    inputs = [parse_side(side, len(shape)) for side, shape in zip(sides, shapes, strict=True)]
    extents: dict[Label, int] = {}
    for labels, shape in zip(inputs, shapes, strict=True):
        own = list(zip(labels, shape, strict=True))
        if any(a == b and not may_equal((left,), (right,)) for (a, left), (b, right) in itertools.combinations(own, 2)):
            raise ValueError(f'"{equation}" repeats a name in an operand of shape {list(shape)}, whose sizes are not equal there')
        for label, extent in zip(labels, shape, strict=True):
            known = extents.get(label, 1)
            if provably_equal(known, 1):
                extents[label] = extent
            elif differ(extent, 1) and differ(extent, known):
                raise ValueError(f'"{equation}" gives {label} the sizes {known} and {extent}')
    hidden = max((sum(label[0] == "." for label in labels) for labels in inputs), default=0)
    names = [label for labels in inputs for label in labels]
    if arrow:
        output = _with_ellipsis(parse_side(right, None), hidden)
    else:
        once = sorted({name for name in names if name[0] != "." and names.count(name) == 1})
        output = _with_ellipsis(["...", *once], hidden)
    if len(set(output)) < len(output) or any(label not in extents for label in output):
        raise ValueError(f'the output of "{equation}" must name dimensions of the operands, each once')
    return inputs, output, extents


def not_spread(labels: Sequence[Label], shape: Sequence[int], extents: dict[Label, int]) -> list[Label]:
    """Returns the labels of an operand without the labels of dimensions of size 1 that another operand makes larger."""
    return [
        label for label, extent in zip(labels, shape, strict=True) if not provably_equal(extent, 1) or provably_equal(extents[label], 1)
    ]


def without_repeats(x: SSAValue, labels: list[Label], extents: dict[Label, int]) -> tuple[SSAValue, list[Label]]:
    """Returns an operand in which each label occurs once, and its labels; built detached.

    Removes dimensions of size 1 that another operand makes larger. Takes the diagonal of dimensions that share a label.
    """
    single = [
        dim
        for dim, (label, extent) in enumerate(zip(labels, shape_of(x), strict=True))
        if provably_equal(extent, 1) and not provably_equal(extents[label], 1)
    ]
    x, labels = aten.squeeze.dims(x, single) if single else x, not_spread(labels, shape_of(x), extents)
    for label in [label for label in dict.fromkeys(labels) if labels.count(label) > 1]:
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            x = aten.diagonal(x, 0, first, second)
            labels = [other for dim, other in enumerate(labels) if dim not in (first, second)] + [label]
    return x, labels


def summed(x: SSAValue, labels: list[Label], kept: set[Label]) -> tuple[SSAValue, list[Label]]:
    """Returns the sum of x over the labels that are not in `kept`, and the remaining labels; built detached."""
    gone = tuple(dim for dim, label in enumerate(labels) if label not in kept)
    if not gone:
        return x, labels
    return aten.sum.dim_IntList(x, gone), [label for label in labels if label in kept]


def contract(
    a: SSAValue, left: list[Label], b: SSAValue, right: list[Label], kept: set[Label], extents: dict[Label, int]
) -> tuple[SSAValue, list[Label]]:
    """Returns the product of two operands, summed over the common labels that are not in `kept`, and its labels; built detached."""
    batch = [label for label in left if label in right and label in kept]
    inner = [label for label in left if label in right and label not in kept]
    rows = [label for label in left if label not in right]
    columns = [label for label in right if label not in left]
    if not inner:
        result = [*batch, *rows, *columns]
        sides = [
            view(
                permute(x, [labels.index(label) for label in result if label in labels]),
                [extents[label] if label in labels else 1 for label in result],
            )
            for x, labels in ((a, left), (b, right))
        ]
        return aten.mul.Tensor(*sides), result
    counts = [math.prod(extents[label] for label in group) for group in (batch, rows, inner, columns)]
    front = [counts[0]] if batch else []
    flat_left = view(permute(a, [left.index(label) for label in (*batch, *rows, *inner)]), [*front, counts[1], counts[2]])
    flat_right = view(permute(b, [right.index(label) for label in (*batch, *inner, *columns)]), [*front, counts[2], counts[3]])
    product = aten.bmm(flat_left, flat_right) if batch else aten.mm(flat_left, flat_right)
    result = [*batch, *rows, *columns]
    return view(product, [extents[label] for label in result]), result


def result_element(inputs: Sequence[Sequence[Label]], output: Sequence[Label], elements: Sequence[ElementType]) -> ElementType:
    """Returns the element type of the sums of products. Raises TypeError for a matrix product of different element types, or of bools."""
    known, element = set(inputs[0]), elements[0]
    for index, (labels, other) in enumerate(zip(inputs[1:], elements[1:], strict=True), 2):
        names, later = set(labels), {label for group in inputs[index:] for label in group} | set(output)
        element = element if known <= names | later else sum_element(element)
        other = other if names <= known | later else sum_element(other)
        if known & names <= later:
            element = promote(element, other)
        elif element != other or dtype_of(element).category == 0:
            raise TypeError(f"a sum of products of {dtype_of(element).torch} and {dtype_of(other).torch} tensors is not defined")
        known = (known | names) & later
    return element if known <= set(output) else sum_element(element)


@aten("einsum(str equation, Tensor[] tensors, *, int[]? path=None) -> Tensor")
class EinsumOp(SchemaOp):
    """The sums of products of an equation such as `bij,bjk->bik`: dimensions that the output does not name are summed over."""

    @staticmethod
    def infer(equation: str, tensors: list[Tensor]) -> Tensor:
        if not tensors:
            raise ValueError("needs at least one tensor")
        shapes = [shape_of(x) for x in tensors]
        inputs, output, extents = parse_equation(equation, shapes)
        names = [not_spread(labels, shape, extents) for labels, shape in zip(inputs, shapes, strict=True)]
        return tensor(result_element(names, output, [element_of(x) for x in tensors]), [extents[label] for label in output])

    @staticmethod
    def numpy(equation: str, tensors: list[Array]) -> Array:
        inputs, output, extents = parse_equation(equation, [x.shape for x in tensors])
        number = {label: index for index, label in enumerate(extents)}
        arguments: list[Any] = []
        names = [not_spread(labels, x.shape, extents) for labels, x in zip(inputs, tensors, strict=True)]
        element = result_element(names, output, [element_of_array(x) for x in tensors])
        for x, labels in zip(tensors, inputs, strict=True):
            wide = widened(cast_to(x, element))
            arguments += [np.broadcast_to(wide, [extents[label] for label in labels]), [number[label] for label in labels]]
        return cast_to(np.einsum(*arguments, [number[label] for label in output], optimize="greedy"), element)

    @staticmethod
    def decompose(equation: str, tensors: list[SSAValue]) -> SSAValue:
        inputs, output, extents = parse_equation(equation, [shape_of(x) for x in tensors])
        operands = [without_repeats(x, labels, extents) for x, labels in zip(tensors, inputs, strict=True)]
        value, labels = operands[0]
        for index, (other, names) in enumerate(operands[1:], 1):
            later = {label for _, group in operands[index + 1 :] for label in group} | set(output)
            # A label that only one of the two has, and that is not needed later, is summed before the product.
            value, labels = summed(value, labels, later | set(names))
            other, names = summed(other, names, later | set(labels))
            value, labels = contract(value, labels, other, names, later, extents)
        value, labels = summed(value, labels, set(output))
        return permute(value, [labels.index(label) for label in output])


@aten("_trilinear(Tensor i1, Tensor i2, Tensor i3, int[] expand1, int[] expand2, int[] expand3, int[] sumdim, int unroll_dim=1) -> Tensor")
class TrilinearOp(SchemaOp):
    """The product of three tensors after inserting dimensions of size 1 into each, summed over `sumdim`."""

    takes = NUMBERS

    @staticmethod
    def expanded(x: Tensor, dims: Sequence[int]) -> list[int]:
        """Returns the shape of x with a dimension of size 1 inserted at each of `dims`, in ascending order."""
        shape = list(shape_of(x))
        for dim in sorted(dims):
            shape.insert(dim, 1)
        return shape

    @staticmethod
    def infer(
        a: Tensor, b: Tensor, c: Tensor, expand1: Sequence[int], expand2: Sequence[int], expand3: Sequence[int], sumdim: Sequence[int], /
    ) -> Tensor:
        require_same_element(a, b)
        require_same_element(a, c)
        shape: Sequence[int] = ()
        for x, dims in ((a, expand1), (b, expand2), (c, expand3)):
            shape = broadcast(shape, TrilinearOp.expanded(x, dims))
        summed = reduced_dims(sumdim, len(shape)) if sumdim else ()
        return tensor(element_of(a), [size for dim, size in enumerate(shape) if dim not in summed])

    @staticmethod
    def numpy(
        a: Array, b: Array, c: Array, expand1: Sequence[int], expand2: Sequence[int], expand3: Sequence[int], sumdim: Sequence[int], /
    ) -> Array:
        parts = [np.expand_dims(widened(x), tuple(dims)) for x, dims in ((a, expand1), (b, expand2), (c, expand3))]
        return (parts[0] * parts[1] * parts[2]).sum(axis=tuple(sumdim)).astype(a.dtype)

    @staticmethod
    def decompose(
        a: SSAValue,
        b: SSAValue,
        c: SSAValue,
        expand1: Sequence[int],
        expand2: Sequence[int],
        expand3: Sequence[int],
        sumdim: Sequence[int],
        /,
    ) -> SSAValue:
        parts: list[SSAValue] = []
        for x, dims in ((a, expand1), (b, expand2), (c, expand3)):
            for dim in sorted(dims):
                x = aten.unsqueeze(x, dim)
            parts.append(x)
        product = aten.mul.Tensor(aten.mul.Tensor(parts[0], parts[1]), parts[2])
        return to_element(aten.sum.dim_IntList(product, sumdim), element_of(a)) if sumdim else product
