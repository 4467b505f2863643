"""Type promotion and broadcasting are PyTorch's; schemas of all operators are understood."""

from __future__ import annotations

import itertools
import math
import re
from typing import Any, cast

import ml_dtypes
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau.dialects.ir.tensor_types import (
    DTYPES,
    DType,
    broadcast,
    dtype_of,
    format_of,
    from_numpy_name,
    from_scalar_type,
    from_torch_name,
    numpy_dtype,
    promote,
    promote_operands,
    tensor,
)
from flambeau.dialects.schema.operators import find_schema, schema_table
from flambeau.dialects.schema.schema import SchemaError, parse_schema

NAMES = [row.torch for row in DTYPES]
ROWS = {row.torch: row for row in DTYPES}


def torch_dtype(name: str) -> torch.dtype:
    return getattr(torch, name)


@pytest.mark.parametrize(("a", "b"), list(itertools.combinations_with_replacement(NAMES, 2)))
def test_promotion_of_two_types_is_that_of_torch(a: str, b: str):
    try:
        expected = str(torch.promote_types(torch_dtype(a), torch_dtype(b))).removeprefix("torch.")
    except RuntimeError:
        for left, right in ((a, b), (b, a)):
            with pytest.raises(TypeError, match="no common type"):
                promote(ROWS[left].element, ROWS[right].element)
        return
    assert dtype_of(promote(ROWS[a].element, ROWS[b].element)).torch == expected
    assert dtype_of(promote(ROWS[b].element, ROWS[a].element)).torch == expected


SOME = ("bool", "uint8", "int8", "int64", "float16", "bfloat16", "float32", "float64", "complex64", "complex128")
OPERANDS: list[tuple[str, tuple[int, ...]] | float] = [(name, shape) for name in SOME for shape in ((2,), ())]
SCALARS: list[tuple[str, tuple[int, ...]] | float] = [True, 3, 2.5]


@pytest.mark.parametrize("a", OPERANDS, ids=str)
@pytest.mark.parametrize("b", [*OPERANDS, *SCALARS], ids=str)
def test_result_type_of_tensors_and_numbers_is_that_of_torch(a: tuple[str, tuple[int, ...]], b: tuple[str, tuple[int, ...]] | float):
    def ours(operand: tuple[str, tuple[int, ...]] | float) -> Any:
        return tensor(ROWS[operand[0]].element, operand[1]) if isinstance(operand, tuple) else operand

    def theirs(operand: tuple[str, tuple[int, ...]] | float) -> Any:
        return torch.zeros(operand[1], dtype=torch_dtype(operand[0])) if isinstance(operand, tuple) else operand

    expected = str(torch.result_type(theirs(a), theirs(b))).removeprefix("torch.")
    if expected == "complex32":
        with pytest.raises(TypeError, match="there is no complex type of float16 parts"):
            promote_operands(ours(a), ours(b))
        return
    assert dtype_of(promote_operands(ours(a), ours(b))).torch == expected


SIZES = st.lists(st.sampled_from([0, 1, 2, 3]), max_size=4)


@given(SIZES, SIZES, SIZES)
@settings(derandomize=True, max_examples=300, deadline=None)
def test_broadcasting_is_that_of_torch(a: list[int], b: list[int], c: list[int]):
    try:
        expected = torch.zeros(a) + torch.zeros(b) + torch.zeros(c)
    except RuntimeError:
        with pytest.raises(ValueError, match="do not broadcast"):
            broadcast(a, b, c)
        return
    assert broadcast(a, b, c) == tuple(expected.shape)


def test_the_names_of_a_type_lead_to_one_row():
    for row in DTYPES:
        assert from_torch_name(row.torch) is from_torch_name(f"torch.{row.torch}") is row
        assert from_numpy_name(row.numpy) is from_scalar_type(row.scalar_type) is row
        assert numpy_dtype(row.element).itemsize == row.size == torch_dtype(row.torch).itemsize


@pytest.mark.parametrize("row", [row for row in DTYPES if row.format is not None], ids=lambda row: row.name)
def test_the_bits_of_a_floating_type_are_those_of_torch_and_numpy(row: DType):
    facts = cast(Any, ml_dtypes).finfo(numpy_dtype(row.element))
    assert format_of(row.element).largest == torch.finfo(torch_dtype(row.name)).max
    assert (format_of(row.element).exponent, format_of(row.element).fraction) == (facts.nexp, facts.nmant)
    assert (format_of(row.element).specials == "IEEE") == bool(torch.tensor(math.inf).to(torch_dtype(row.name)).float().isinf())


def test_the_bits_of_another_type_are_not_known():
    with pytest.raises(TypeError, match="int64 is not a floating type"):
        format_of(ROWS["int64"].element)


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ("f(Tenser x) -> Tensor", "there is no type 'Tenser' in schemas; did you mean 'Tensor'?"),
        ("f(Tensor x, *, boolean keepdim=False) -> Tensor", "there is no type 'boolean' in schemas; did you mean 'bool'?"),
        ("f(Tensor x, Int[] size) -> Tensor", "there is no type 'Int' in schemas; did you mean 'int'?"),
        ("f(Tensor x) -> (Tensor low, Tenser high)", "there is no type 'Tenser' in schemas; did you mean 'Tensor'?"),
        ("f(Tensor x, Tensor<2> y) -> Tensor", "there is no type 'Tensor<2>' in schemas"),
        ("f(x) -> Tensor", "argument 'x' needs a type and a name, such as 'Tensor self'"),
    ],
)
def test_a_misspelt_schema_is_an_error(schema: str, message: str):
    with pytest.raises(SchemaError, match=re.escape(message)):
        parse_schema(schema)


def test_every_schema_of_the_table_is_understood():
    for lines in schema_table().values():
        for line in lines:
            schema = parse_schema(line)
            assert schema.name == line[: line.index("(")]
            assert find_schema(schema.name) == schema


@pytest.mark.parametrize(
    "name", ["add.Tensor", "conv2d", "index.Tensor", "clamp", "split_with_sizes", "max.dim", "add.out", "arange.start_step", "gelu", "view"]
)
def test_arguments_are_those_of_torch(name: str):
    schema = find_schema(name)
    assert schema is not None
    overload = getattr(getattr(torch.ops.aten, schema.base), schema.overload or "default")
    theirs = overload._schema.arguments
    assert [(a.name, a.keyword_only, a.has_default) for a in schema.arguments] == [
        (t.name, t.kwarg_only, t.has_default_value()) for t in theirs
    ]
    for ours, given_ in zip(schema.arguments, theirs, strict=True):
        assert ours.type.mutated == (given_.alias_info is not None and given_.alias_info.is_write)
        if given_.has_default_value() and not isinstance(given_.default_value, str) and ours.type.base not in ("MemoryFormat", "Layout"):
            value: Any = given_.default_value
            assert ours.default == (tuple(cast("list[Any]", value)) if isinstance(value, list) else value)
    assert len(schema.returns) == len(overload._schema.returns)
