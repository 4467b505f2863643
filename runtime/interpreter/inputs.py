"""Generates random inputs for methods. The same seed gives the same inputs, and the uses of an input limit its values."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, cast
from zlib import crc32

import ml_dtypes
from xdsl.dialects import arith, scf
from xdsl.dialects import tensor as tensors
from xdsl.dialects.builtin import IndexType, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation, SSAValue

from flambeau.dialects.exec.instructions import CallOp
from flambeau.dialects.exec.literals import IntOp, TensorListOp, literal_value
from flambeau.dialects.exec.method import MethodOp
from flambeau.dialects.exec.row_kernels import row_kernels
from flambeau.dialects.exec.slots import AliasOp
from flambeau.dialects.flambeau.method_interface import inputs_of
from flambeau.dialects.ir.extents import largest
from flambeau.dialects.ir.tensor_types import shape_of
from flambeau.dialects.schema.row import SchemaOp
from flambeau.dialects.schema.schema import Schema, SchemaArgument
from flambeau.runtime.interpreter.array_kinds import array_kind, check_size
from flambeau.runtime.interpreter.function_interface import InterpreterError
from flambeau.runtime.interpreter.function_runner import Leaf
from flambeau.support.lazy import Array, np

DYNAMIC_EXTENT = 3
"""The size of a dynamic dimension without a bound."""

_INDICES = ("index", "indices")
_TABLES = ("self", "weight")

WIDE = 8
"""The factor of wide inputs over usual ones: they pass the bends of the usual activations."""

_PIECE = 2**20
"""The number of elements of a large input that are made up at a time."""

EXTREMES = (1e4, -100.0, 100.0, -1e4, 0.0, -0.0)
"""The magnitude of every other element of extreme inputs, as far as the dtype holds its square: exponentials overflow."""

InputKind = Literal["usual", "wide", "extreme"]


def generate_inputs(method: FuncOp | MethodOp, seed: int, kind: InputKind = "usual") -> list[Leaf]:
    """Returns the leaves of random inputs for a method, of the kind `kind`: "usual", "wide" or "extreme".

    Floats are normally distributed, wide ones with a deviation of WIDE. Bools are random; a single bool has both values within any three
    consecutive seeds, because it may decide a branch. Integers that are used as indices lie below the size that they index (the rows of an
    embedding, the entries of an indexed dimension); other integers are 0 or 1, wide ones from -WIDE to WIDE. An `index` is never negative,
    and the step of a loop is positive. A dynamic dimension has its upper bound, or DYNAMIC_EXTENT. Extreme inputs are wide inputs in which
    some elements are EXTREMES, except in indices, and in single integers, which may be counts.

    Raises:
        InterpreterError: an input has a type without arrays.
    """
    random = np.random.default_rng([seed, crc32(method.sym_name.data.encode())])
    leaves: list[Leaf] = []
    if isinstance(method, MethodOp):
        for slot in method.terminator.inputs:
            leaves.append(_array(slot, random, kind) if isinstance(slot.type, TensorType) else _literal(slot))
    else:
        values = iter(method.body.blocks[0].args)
        for leaf in inputs_of(method):
            leaves.append(_array(next(values), random, kind) if leaf.is_tensor else leaf.value)
    lone = [leaf for leaf in leaves if isinstance(leaf, np.ndarray) and leaf.dtype.kind == "b" and not leaf.shape]
    for index, leaf in enumerate(lone):
        leaf[...] = seed >> index % 2 & 1
    return leaves


def _literal(slot: SSAValue) -> Leaf:
    try:
        found = literal_value(slot)
    except TypeError:
        found = ()
    if isinstance(found, tuple):
        raise InterpreterError(f"no input can be made up for a slot of type {slot.type}: give inputs")
    return found


def _array(value: SSAValue, random: np.random.Generator, kind: InputKind) -> Array:
    shape, dtype = _concrete(value)
    check_size(shape, dtype, f"an input of type {value.type}", _owner(value))
    wide = kind != "usual"
    try:
        array = np.empty(shape, dtype)
    except MemoryError as error:
        size = math.prod(shape) * dtype.itemsize
        raise InterpreterError(f"an input of type {value.type} has {size} bytes, which do not fit in memory", _owner(value)) from error
    if dtype.kind == "b":
        _fill(array, lambda count: random.integers(0, 2, count))
        return array
    if dtype.kind in "iu":
        bound = _bound(value)
        low, high = 0, min(bound or 2, np.iinfo(cast(Any, dtype)).max)
        if bound is None and wide:
            low, high = 0 if dtype.kind == "u" or isinstance(value.type, IndexType) else -WIDE, WIDE + 1
        if any(isinstance(use.operation, scf.ForOp) and use.operation.step is value for use in value.uses):
            low = 1
        _fill(array, lambda count: random.integers(low, max(high, low + 1), count))
        is_extreme = kind == "extreme" and bound is None and shape and not isinstance(value.type, IndexType)
        info = np.iinfo(cast(Any, dtype))
        return _with_extremes(array, [item for item in EXTREMES if info.min <= item <= info.max], random) if is_extreme else array
    _fill(array, lambda count: random.standard_normal(count) * (WIDE if wide else 1))
    most = float(cast(Any, ml_dtypes).finfo(dtype).max) ** 0.5
    return _with_extremes(array, [item for item in EXTREMES if abs(item) <= most], random) if kind == "extreme" else array


def _fill(array: Array, draw: Callable[[int], Array]) -> None:
    """Fills an array with numbers of `draw`, converted to its dtype; piece by piece, because drawn numbers take more memory."""
    for piece in _pieces(array):
        piece[...] = draw(piece.size).astype(array.dtype)


def _with_extremes(array: Array, extremes: Sequence[float], random: np.random.Generator) -> Array:
    """Returns the array with `extremes` in place of about half of its elements."""
    for piece in _pieces(array):
        places = random.permutation(piece.size)[: (piece.size + 1) // 2]
        piece[places] = np.resize(np.asarray(extremes), places.size).astype(array.dtype)
    return array


def _pieces(array: Array) -> Iterator[Array]:
    flat = array.reshape(-1)
    return (flat[start : start + _PIECE] for start in range(0, flat.size, _PIECE))


def _concrete(value: SSAValue) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    kind = value.type
    try:
        shape, dtype = array_kind(kind)
    except TypeError as error:
        raise InterpreterError(f"no input can be made up: {error}", _owner(value)) from error
    extents = shape_of(cast(Attribute, kind)) if isinstance(kind, TensorType) else shape
    return tuple(DYNAMIC_EXTENT if (bound := largest(extent)) is None else bound for extent in extents), dtype


def _owner(value: SSAValue) -> Operation | None:
    return value.owner if isinstance(value.owner, Operation) else value.owner.parent_op()


def _bound(value: SSAValue) -> int | None:
    """Returns the smallest size that the integers of a value index; None if they are used as no indices."""
    bounds: list[int] = []
    work, seen = [value], {value}
    while work:
        for use in work.pop().uses:
            bounds += _numbered(use.operation, use.operation.operands[use.index])
            for held in _holding(use.operation):
                if held not in seen:
                    seen.add(held)
                    work.append(held)
    return min((bound for bound in bounds if bound > 0), default=None)


def _holding(op: Operation) -> Sequence[SSAValue]:
    """Returns the results of `op` that hold the same integers as its operand; none if it computes others."""
    moves = isinstance(op, SchemaOp) and op.moves and len(op.operands) == 1
    return op.results if moves or isinstance(op, AliasOp | TensorListOp | arith.IndexCastOp) else ()


def _call(op: Operation) -> tuple[Schema, Sequence[tuple[SchemaArgument, Any]]] | None:
    if isinstance(op, SchemaOp):
        return op.schema, list(zip(op.schema.arguments, op.arguments(), strict=True))
    kernel = row_kernels().get(op.operator.data) if isinstance(op, CallOp) else None
    if kernel is None or not isinstance(op, CallOp):
        return None
    inputs = [argument for argument in kernel.out.arguments if argument not in kernel.out.outs]
    return kernel.row.schema, [(argument, _number(slot)) for argument, slot in zip(inputs, op.ins, strict=False)]


def _number(slot: SSAValue) -> Any:
    return slot.owner.number if isinstance(slot.owner, IntOp) else slot


def _numbered(op: Operation, value: SSAValue) -> Iterator[int]:
    """Yields the sizes that `value`, an operand of `op`, indexes in `op`."""
    if isinstance(op, tensors.ExtractOp | tensors.InsertOp):
        shape = _concrete(op.tensor if isinstance(op, tensors.ExtractOp) else op.dest)[0]
        yield from (extent for index, extent in zip(op.indices, shape, strict=False) if index is value)
    if isinstance(op, scf.ForOp) and op.ub is value and (last := _bound(op.body.block.args[0])) is not None:
        yield last + 1
    called = _call(op)
    if called is None:
        return
    schema, pairs = called
    arguments = {argument.name: given for argument, given in pairs}
    if schema.base == "one_hot" and isinstance(classes := arguments.get("num_classes"), int):
        yield classes
    tables: list[SSAValue] = [arguments[name] for name in _TABLES if isinstance(arguments.get(name), SSAValue)]
    if not tables or tables[0] is value:
        return
    shape = _concrete(tables[0])[0] or (1,)
    for name in _INDICES:
        given = arguments.get(name)
        if isinstance(given, list):
            yield from (size for item, size in zip(cast("list[Any]", given), shape, strict=False) if item is value)
        elif given is value:
            dim = arguments.get("dim")
            if isinstance(dim, int) and -len(shape) <= dim < len(shape):
                yield shape[dim]
            else:
                yield math.prod(shape) if "dim" in arguments or schema.base == "take" else shape[0]
