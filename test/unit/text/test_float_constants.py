"""Every float in an attribute comes back from its text bit for bit, in each float type and each kind of attribute, also in MLIR's text."""

from __future__ import annotations

import random
from io import StringIO
from typing import Any

import pytest
from shares import drawn
from xdsl.dialects.builtin import (
    AnyFloat,
    ArrayAttr,
    BytesAttr,
    ComplexType,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    FloatData,
    TensorType,
    VectorType,
    f64,
)
from xdsl.dialects.complex import ComplexNumberAttr
from xdsl.dialects.test import TestOp as AnOp
from xdsl.ir import Attribute
from xdsl.parser import Parser

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.float_text import bits_of, value_of
from flambeau.dialects.text.module_text import IRError, parse_module
from flambeau.dialects.text.printer import ModulePrinter

TYPES: dict[str, AnyFloat] = {name: kind for name, kind in Parser._builtin_float_types.items()}  # pyright: ignore[reportPrivateUsage]  all that it reads
WIDE = {"f80", "f128"}
LISTED = [name for name in TYPES if name not in WIDE]


def printed(attribute: Attribute) -> str:
    stream = StringIO()
    ModulePrinter(stream).print_op(AnOp(attributes={"a": attribute}))
    return stream.getvalue()


def read(text: str) -> Attribute:
    (op,) = parse_module(text, FlambeauContext()).module.ops
    return op.attributes["a"]


def parsed(attribute: str) -> Attribute:
    return read(f'"test.op"() {{a = {attribute}}} : () -> ()')


def some_bits(generator: random.Random, kind: AnyFloat) -> int:
    """Draws the bits of a number: special ones, those near to them, those of numbers without fraction, and any."""
    special = [0.0, -0.0, float("inf"), float("-inf"), float("nan"), 1.0, 1 / 3, 65504.0, 65504.0 if kind.name == "f16" else 2.0**24]
    drawn_bits = bits_of(generator.choice(special), kind) if generator.random() < 0.6 else generator.getrandbits(kind.bitwidth)
    return (drawn_bits + generator.choice((0, 0, 0, 1, -1))) % (1 << kind.bitwidth)


def some_data(generator: random.Random, kind: AnyFloat, count: int) -> BytesAttr:
    pool = [some_bits(generator, kind) for _ in range(generator.choice((1, 2, count)))]
    return BytesAttr(b"".join(generator.choice(pool).to_bytes(kind.size, "little") for _ in range(count)))


def some_attribute(generator: random.Random, kind: AnyFloat) -> Attribute:
    shape = [generator.choice((1, 2, 3)) for _ in range(generator.choice((0, 1, 1, 2, 3)))]
    shape = [101] if generator.random() < 0.1 else shape
    count = TensorType(kind, shape).element_count()
    value = value_of(some_bits(generator, kind), kind)
    choices: list[Attribute] = [
        FloatAttr[AnyFloat].new([FloatData(value), kind]),
        ArrayAttr([FloatData(value)]),
        DenseIntOrFPElementsAttr(TensorType(kind, shape), some_data(generator, kind, count)),
        DenseIntOrFPElementsAttr(VectorType(kind, shape), some_data(generator, kind, count)),
        DenseIntOrFPElementsAttr(TensorType(ComplexType(kind), shape), some_data(generator, kind, 2 * count)),
        DenseArrayBase(kind, some_data(generator, kind, generator.choice((0, 1, 5)))),
        ComplexNumberAttr(value, value_of(some_bits(generator, kind), kind), ComplexType(kind)),
    ]
    return generator.choice(choices)


@pytest.mark.parametrize("seed", drawn(range(200)))
def test_any_attribute_of_floats_comes_back(seed: int) -> None:
    generator = random.Random(seed)
    for name in LISTED:
        attribute = some_attribute(generator, TYPES[name])
        text = printed(attribute)
        assert read(text) == attribute, text
        assert printed(read(text)) == text


@pytest.mark.parametrize("name", [name for name in LISTED if TYPES[name].bitwidth <= 16])
def test_each_number_of_a_narrow_type_comes_back(name: str) -> None:
    kind = TYPES[name]
    step = 1 if kind.bitwidth <= 8 else 37
    for bits in range(0, 1 << kind.bitwidth, step):
        assert bits_of(value_of(bits, kind), kind) == bits, f"0x{bits:x}"
    data = b"".join(bits.to_bytes(kind.size, "little") for bits in range(0, 1 << kind.bitwidth, step))
    array = DenseArrayBase(kind, BytesAttr(data))
    assert read(printed(array)) == array


@pytest.mark.parametrize("name", sorted(WIDE))
@pytest.mark.parametrize("value", [0.0, -0.0, 1.5, -1 / 3, 1e300, 5e-324, float("inf"), float("-inf"), float("nan")])
def test_a_number_of_a_wide_type_comes_back(name: str, value: float) -> None:
    kind = TYPES[name]
    attribute = FloatAttr(value, kind)
    assert read(printed(attribute)) == attribute
    assert parsed(f"0x{bits_of(value, kind):X} : {name}") == attribute


@pytest.mark.parametrize(
    ("text", "bits"),
    [
        ("dense<[0x7FC00000, 1.000000e+00]> : tensor<2xf32>", [0x7FC00000, 0x3F800000]),
        ("dense<0xFF800000> : tensor<2xf32>", [0xFF800000] * 2),
        ("dense<[[0x7F800001], [0x4B800000]]> : vector<2x1xf32>", [0x7F800001, 0x4B800000]),
        ("dense<[0xFC00, 0x7E01]> : tensor<2xf16>", [0xFC00, 0x7E01]),
        ("dense<[0xFFC1]> : tensor<1xbf16>", [0xFFC1]),
        ("dense<0x7FF0000000000000> : tensor<f64>", [0x7FF0000000000000]),
        ("dense<[0xFF, 0x80]> : tensor<2xf8E4M3FN>", [0xFF, 0x80]),
        ("dense<(0x7F800000,1.000000e+00)> : tensor<2xcomplex<f32>>", [0x7F800000, 0x3F800000] * 2),
        ("dense<[(0x7F800000, 0x7FC00000), (-0.0, 2.0)]> : tensor<2xcomplex<f32>>", [0x7F800000, 0x7FC00000, 0x80000000, 0x40000000]),
        ("dense<[-0.0, 0.0]> : tensor<2xf32>", [0x80000000, 0]),
        ("array<f32: 0x7FC00000, 0x4B800000, -1.0>", [0x7FC00000, 0x4B800000, 0xBF800000]),
        ("array<bf16: 0xFF80>", [0xFF80]),
    ],
)
def test_the_bits_in_the_text_of_mlir(text: str, bits: list[int]) -> None:
    attribute: Any = parsed(text)
    data: bytes = attribute.data.data
    size = len(data) // len(bits)
    assert [int.from_bytes(data[start : start + size], "little") for start in range(0, len(data), size)] == bits
    assert read(printed(attribute)) == attribute


def test_a_complex_number_from_mlir() -> None:
    number = parsed("#complex.number<:f32 0x7F800000, 0xFFC00000> : complex<f32>")
    assert number == ComplexNumberAttr(float("inf"), value_of(0xFFC00000, TYPES["f32"]), ComplexType(TYPES["f32"]))


def test_integers_in_hexadecimal_stay_integers() -> None:
    dense = parsed("dense<[0x10, -0x10, 3]> : tensor<3xi32>")
    assert isinstance(dense, DenseIntOrFPElementsAttr)
    assert dense.get_values() == (16, -16, 3)
    assert parsed("dense<(0x10, 2)> : tensor<complex<i8>>") == parsed("dense<(16, 2)> : tensor<complex<i8>>")
    assert parsed("array<i32: 0x10>") == parsed("array<i32: 16>")
    assert parsed("0x10 : i32") == parsed("16 : i32")
    assert parsed("1.0") == FloatAttr(1.0, f64)


@pytest.mark.parametrize(
    ("text", "message", "column"),
    [
        ("-0x7F800000 : f32", "the bits of a float have no sign before them: it is one of the bits", 18),
        ("dense<[1.0, -0x7F800000]> : tensor<2xf32>", "the bits of a float have no sign before them: it is one of the bits", 30),
        ("dense<(-0x7F800000, 1.0)> : tensor<complex<f32>>", "the bits of a float have no sign before them: it is one of the bits", 24),
        ("array<f32: -0x7F800000>", "the bits of a float have no sign before them: it is one of the bits", 29),
        ("0x17FC00000 : f32", "0x17FC00000 has more bits than f32", 18),
        ("dense<[0x10000]> : tensor<1xf16>", "0x10000 has more bits than f16", 25),
        ("array<f8E5M2: 0x100>", "0x100 has more bits than f8E5M2", 32),
        ("0x3FFF8000000000000001 : f80", "0x3FFF8000000000000001 is no number of double precision, in which constants of f80 are kept", 18),
        ("dense<1.0> : tensor<2xf80>", "there are no lists of f80 constants: only a single number can be of this type", None),
        ("array<f128: 1.0>", "there are no lists of f128 constants: only a single number can be of this type", None),
    ],
)
def test_bits_that_no_float_has(text: str, message: str, column: int | None) -> None:
    with pytest.raises(IRError) as caught:
        parsed(text)
    assert caught.value.diagnostic.message == message
    position = caught.value.diagnostic.position
    assert position is not None
    assert column is None or position.column == column


def test_bytes_with_unused_bits_come_back() -> None:
    dense = parsed('dense<"0xF1F1F2"> : tensor<3xf4E2M1FN>')
    assert read(printed(dense)) == dense
