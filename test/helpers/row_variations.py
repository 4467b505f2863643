"""Variations of a row's samples: other element types, extents, ranks, values, dim orders and attributes, most of which torch computes and
some of which it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, cast

import ml_dtypes
import numpy as np

from flambeau.dialects.ir.tensor_types import DTYPES, from_numpy_name
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.schema import SchemaArgument
from flambeau.support.lazy import Array
from flambeau.tools.samples.sample_generators import FLOATS
from flambeau.tools.samples.sample_operations import arrays_of, converted, numpy_type, permuted, with_tensors

Sample = tuple[Any, ...]
Change = Callable[[int, Array], Array]
"""Of a tensor and its number."""
NAMES = (*FLOATS, "int64", "int32", "int16", "int8", "uint8", "bool")
NUMBERS = (2, -1, 0, 0.5, -1.5, True, math.inf, math.nan, 1e10)
"""What an argument that is a number becomes."""
DIMS = (0, -1, 1, 7, -9)
"""What an argument that names a dimension becomes."""
LONG = 131
"""An extent longer than the vectors and the tiles in which kernels compute."""
MOST = 1 << 14
"""Elements of the tensors of a sample in which an extent is longer."""
LAYOUTS: dict[str, Callable[[int], tuple[int, ...]]] = {
    "channels last": lambda rank: (0, *range(2, rank), 1),
    "transposed": lambda rank: tuple(reversed(range(rank))),
}
"""The dim order of a tensor of some rank, by its name."""
SWITCHES_OF_DEVICES = {"non_blocking", "copy", "pin_memory", "cudnn_enable", "cudnn_enabled", "benchmark", "deterministic", "allow_tf32"}
"""Booleans that say how torch computes, not what."""


def special(array: Array, shift: int, limits: bool) -> Array:
    """The array with NaN, infinities and a negative zero among its elements; with `limits` also the extremes of its type."""
    kind = array.dtype
    if kind == np.dtype(bool):
        return array
    if kind.name in FLOATS:
        info = cast(Any, ml_dtypes).finfo(kind)
        values = [math.nan, math.inf, -math.inf, -0.0, *([float(info.max), float(info.smallest_subnormal)] if limits else [])]
    else:
        values = [np.iinfo(kind).max, np.iinfo(kind).min]
    flat: Array = array.reshape(-1).copy()
    for place, value in enumerate(values[: flat.size]):
        flat[(place * 7 + shift * 3) % flat.size] = value
    return flat.reshape(array.shape)


def only(tensor: int, change: Callable[[Array], Array]) -> Change:
    """A change of one tensor."""
    return lambda number, array: change(array) if number == tensor else array


def first(array: Array) -> Array:
    """A tensor without dimensions."""
    return np.asarray(array.reshape(-1)[0]) if array.size else array


def in_type(name: str, main: Any) -> Change:
    """Each tensor of type `main` in another type."""
    return lambda _, array: converted(array, name) if array.dtype == main else array


def special_in_type(name: str, main: Any, limits: bool) -> Change:
    """Each tensor of type `main` in another type, with special values."""
    return lambda number, array: special(converted(array, name), number, limits) if array.dtype == main else array


def one_in_type(tensor: int, name: str) -> Change:
    """One tensor in another type."""
    return only(tensor, lambda array: converted(array, name))


def resized(extent: int, other: int) -> Change:
    """Each tensor with another extent in the place of one; its entries are repeated where they are too few."""

    def change(_: int, array: Array) -> Array:
        for axis, size in enumerate(array.shape):
            if size == extent:
                array = array.take([place % size for place in range(other)], axis)
        return array

    return change


def in_order(order: Callable[[int], tuple[int, ...]]) -> Change:
    """Each tensor with its elements in another dim order, outermost dimension first, for its rank."""
    return lambda _, array: permuted(array, order(array.ndim)) if array.ndim > 1 else array


def variations(op: type[SchemaOp], sample: Sample, longer: bool = False) -> Iterator[tuple[str, Sample]]:
    """What is varied, and the sample that it gives; `longer`: also tensors that are longer than the vectors and tiles of kernels."""
    yield from of_values(op, sample)
    yield from of_shapes(sample, longer)
    if op.elementwise and (longer or len(arrays_of(sample)) == 1):
        # Longer than the vectors and the blocks in which kernels compute.
        yield "long", with_tensors(sample, lambda _, array: np.resize(array, (1031,)) if array.size and array.ndim else array)
    for place, argument in enumerate(op.schema.arguments):
        for value in other_values(argument, sample[place]):
            # A number may be an extent where there is no tensor.
            if value != 1e10 or arrays_of(sample):
                element = next((row.torch for row in DTYPES if row.element == value), value)
                yield f"{argument.name} = {element}", (*sample[:place], value, *sample[place + 1 :])


def of_values(op: type[SchemaOp], sample: Sample) -> Iterator[tuple[str, Sample]]:
    """Other element types, those that mix among them, and special values."""
    arrays = arrays_of(sample)
    for name in NAMES if arrays else ():
        # The first tensor's type is that of what is computed; others are indices and masks.
        main = arrays[0].dtype
        if numpy_type(name) != main:
            yield f"in {name}", with_tensors(sample, in_type(name, main))
        if name != "bool":
            # Whether a sum of extremes overflows depends on its order.
            yield f"special {name}", with_tensors(sample, special_in_type(name, main, op.elementwise or op.moves))
        for number, array in enumerate(arrays if len(arrays) > 1 else ()):
            if numpy_type(name) != array.dtype:
                yield f"tensor {number} in {name}", with_tensors(sample, one_in_type(number, name))


def of_shapes(sample: Sample, longer: bool = False) -> Iterator[tuple[str, Sample]]:
    """Extents of 0 and 1 and perhaps a large one, fewer dimensions."""
    arrays = arrays_of(sample)
    for extent in sorted({extent for array in arrays for extent in array.shape} - {0, 1}):
        elements = sum(math.prod(LONG if size == extent else size for size in array.shape) for array in arrays)
        for other in (0, 1, LONG) if longer and elements < MOST else (0, 1):
            yield f"extent {extent} is {other}", with_tensors(sample, resized(extent, other))
    for number, array in enumerate(arrays):
        if array.ndim:
            yield f"tensor {number} without dimensions", with_tensors(sample, only(number, first))
            yield f"tensor {number} broadcast", with_tensors(sample, only(number, lambda array: array[:1]))
            yield f"tensor {number} empty", with_tensors(sample, only(number, lambda array: array[:0]))
    if len(arrays) > 1:
        yield "all without dimensions", with_tensors(sample, lambda _, array: first(array))
    for name, order in LAYOUTS.items():
        yield name, with_tensors(sample, in_order(order))


def other_values(argument: SchemaArgument, value: Any) -> Iterator[Any]:
    """Other values of an argument; of tensors, their absence."""
    kind = argument.type.base
    candidates: tuple[Any, ...] = ()
    if argument.type.is_list or (value is None and kind == "bool"):
        pass
    elif argument.type.is_tensor:
        candidates = (None,) if argument.type.optional else ()
    elif kind == "Scalar":
        candidates = NUMBERS
    elif kind == "float" and not argument.name.startswith("scale"):
        candidates = (0.0, 0.5, 2.0, math.inf)
    elif kind == "bool" and argument.name not in SWITCHES_OF_DEVICES:
        candidates = (not value,)
    elif kind == "int" and argument.name.startswith(("dim", "axis")):
        candidates = DIMS
    elif kind == "ScalarType":
        candidates = tuple(row.element for name in NAMES if (row := from_numpy_name(name)) is not None)
    for candidate in candidates:
        if type(candidate) is not type(value) or (candidate != value):
            yield candidate
