"""Arithmetic of the interpreter, element by element, against Python's own numbers."""

import math
import re
import struct
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from xdsl.dialects import arith, cf, scf, tensor, varith
from xdsl.dialects import math as math_dialect
from xdsl.traits import IsTerminator

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import Pipeline
from flambeau.runtime.interpreter import FunctionProgram, InterpreterError, MethodProgram, interpret
from flambeau.runtime.interpreter.functions import interpreter_function

DTYPES: dict[str, Any] = {
    "i1": np.bool_,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "index": np.int64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f32": np.float32,
    "f64": np.float64,
}
WIDTHS = {"i1": 1, "i8": 8, "i16": 16, "i32": 32, "i64": 64, "index": 64}
FLOATS = ("f16", "bf16", "f32", "f64")


def run(operation: str, operands: Sequence[tuple[str, Any]], *results: str) -> list[Any]:
    """The results, as Python's numbers, of an operation of which the text names its operands %0, %1, …"""
    arguments = ", ".join(f"%{index}: {kind}" for index, (kind, _) in enumerate(operands))
    names = ", ".join(f"%r{index}" for index in range(len(results)))
    kinds = ", ".join(results)
    text = f"func.func @f({arguments}) -> ({kinds}) {{\n  {names} = {operation}\n  func.return {names} : {kinds}\n}}"
    inputs = [np.asarray(value).astype(DTYPES[kind]) for kind, value in operands]
    return [np.asarray(result).item() for result in program(text).run("f", inputs)]


@cache
def program(text: str) -> FunctionProgram | MethodProgram:
    """What runs a module."""
    context = FlambeauContext()
    return interpret(parse_module(text, context).module, context)


def signed(value: int, kind: str) -> int:
    """What the low bits say with a sign."""
    width = WIDTHS[kind]
    low = value & ((1 << width) - 1)
    return low - (1 << width) if low >> (width - 1) else low


def unsigned(value: int, kind: str) -> int:
    """What the low bits say without a sign."""
    return value & ((1 << WIDTHS[kind]) - 1)


def held(value: int, kind: str) -> int | bool:
    """A result as numpy has it."""
    return bool(value & 1) if kind == "i1" else signed(value, kind)


def truncating(x: int, y: int) -> int:
    return -(-x // y) if (x < 0) != (y < 0) else x // y


def values(kind: str) -> list[int]:
    width = WIDTHS[kind]
    low, high = -(1 << (width - 1)), (1 << (width - 1)) - 1
    return sorted({signed(value, kind) for value in (low, low + 1, -7, -2, -1, 0, 1, 2, 3, 7, high - 1, high)})


Compute = Callable[[int, int, int], int]
SIGNED: dict[str, Compute] = {
    "addi": lambda x, y, w: x + y,
    "subi": lambda x, y, w: x - y,
    "muli": lambda x, y, w: x * y,
    "divsi": lambda x, y, w: truncating(x, y),
    "floordivsi": lambda x, y, w: x // y,
    "ceildivsi": lambda x, y, w: -(-x // y),
    "remsi": lambda x, y, w: x - y * truncating(x, y),
    "minsi": lambda x, y, w: min(x, y),
    "maxsi": lambda x, y, w: max(x, y),
    "andi": lambda x, y, w: x & y,
    "ori": lambda x, y, w: x | y,
    "xori": lambda x, y, w: x ^ y,
}
UNSIGNED: dict[str, Compute] = {
    "divui": lambda x, y, w: x // y,
    "ceildivui": lambda x, y, w: -(-x // y),
    "remui": lambda x, y, w: x % y,
    "minui": lambda x, y, w: min(x, y),
    "maxui": lambda x, y, w: max(x, y),
    "shli": lambda x, y, w: x << y if y < w else 0,
    "shrui": lambda x, y, w: x >> min(y, w),
}


@pytest.mark.parametrize("kind", WIDTHS)
def test_integers_wrap_around_at_their_width(kind: str):
    width = WIDTHS[kind]
    for table, read in ((SIGNED, signed), (UNSIGNED, unsigned)):
        for name, compute in table.items():
            for x in values(kind):
                for y in values(kind):
                    if y == 0 and ("div" in name or "rem" in name):
                        continue
                    expected = held(compute(read(x, kind), read(y, kind), width), kind)
                    assert run(f"arith.{name} %0, %1 : {kind}", [(kind, x), (kind, y)], kind) == [expected], (name, x, y)


@pytest.mark.parametrize("kind", WIDTHS)
def test_shifts_to_the_right_keep_the_sign(kind: str):
    for x in values(kind):
        for y in values(kind):
            by = min(unsigned(y, kind), WIDTHS[kind])
            assert run(f"arith.shrsi %0, %1 : {kind}", [(kind, x), (kind, y)], kind) == [held(signed(x, kind) >> by, kind)]


@pytest.mark.parametrize("kind", WIDTHS)
def test_comparisons_have_a_sign_or_not(kind: str):
    predicates: dict[str, tuple[Callable[[int, str], int], Callable[[int, int], bool]]] = {
        "eq": (signed, lambda x, y: x == y),
        "ne": (signed, lambda x, y: x != y),
        "slt": (signed, lambda x, y: x < y),
        "sle": (signed, lambda x, y: x <= y),
        "sgt": (signed, lambda x, y: x > y),
        "sge": (signed, lambda x, y: x >= y),
        "ult": (unsigned, lambda x, y: x < y),
        "ule": (unsigned, lambda x, y: x <= y),
        "ugt": (unsigned, lambda x, y: x > y),
        "uge": (unsigned, lambda x, y: x >= y),
    }
    for name, (read, compare) in predicates.items():
        for x in values(kind):
            for y in values(kind):
                expected = compare(read(x, kind), read(y, kind))
                assert run(f"arith.cmpi {name}, %0, %1 : {kind}", [(kind, x), (kind, y)], "i1") == [expected], (name, x, y)


@pytest.mark.parametrize("kind", ["i1", "i8", "i64"])
def test_wide_results_are_exact(kind: str):
    width = WIDTHS[kind]
    for x in values(kind):
        for y in values(kind):
            for name, read in (("mulsi_extended", signed), ("mului_extended", unsigned)):
                product = read(x, kind) * read(y, kind)
                found = run(f"arith.{name} %0, %1 : {kind}", [(kind, x), (kind, y)], kind, kind)
                assert found == [held(product, kind), held(product >> width, kind)], (name, x, y)
            total = unsigned(x, kind) + unsigned(y, kind)
            found = run(f"arith.addui_extended %0, %1 : {kind}, i1", [(kind, x), (kind, y)], kind, "i1")
            assert found == [held(total, kind), bool(total >> width)], (x, y)


@pytest.mark.parametrize(
    ("operation", "given", "result", "expected"),
    [
        ("arith.trunci %0 : i32 to i8", ("i32", 0x1FF), "i8", -1),
        ("arith.trunci %0 : i32 to i1", ("i32", 6), "i1", False),
        ("arith.extsi %0 : i8 to i32", ("i8", -3), "i32", -3),
        ("arith.extui %0 : i8 to i32", ("i8", -3), "i32", 253),
        ("arith.extsi %0 : i1 to i32", ("i1", True), "i32", -1),
        ("arith.extui %0 : i1 to i32", ("i1", True), "i32", 1),
        ("arith.index_cast %0 : i8 to index", ("i8", -3), "index", -3),
        ("arith.index_cast %0 : index to i8", ("index", 300), "i8", 44),
        ("arith.sitofp %0 : i8 to f32", ("i8", -3), "f32", -3.0),
        ("arith.uitofp %0 : i8 to f32", ("i8", -3), "f32", 253.0),
        ("arith.sitofp %0 : i1 to f32", ("i1", True), "f32", -1.0),
        ("arith.sitofp %0 : i64 to f32", ("i64", 2**24 + 1), "f32", 2.0**24),
        ("arith.fptosi %0 : f32 to i32", ("f32", -2.75), "i32", -2),
        ("arith.fptosi %0 : bf16 to i8", ("bf16", 2.5), "i8", 2),
        ("arith.fptoui %0 : f64 to i8", ("f64", 250.9), "i8", -6),
        ("arith.fptosi %0 : f32 to i32", ("f32", math.nan), "i32", 0),
        ("arith.extf %0 : f16 to f64", ("f16", 0.1), "f64", float(np.float16(0.1))),
        ("arith.truncf %0 : f64 to f16", ("f64", 0.1), "f16", float(np.float16(0.1))),
        ("arith.truncf %0 : f64 to bf16", ("f64", 0.1), "bf16", 0.10009765625),
        ("arith.bitcast %0 : f32 to i32", ("f32", 1.0), "i32", 0x3F800000),
        ("arith.bitcast %0 : i64 to f64", ("i64", struct.unpack("<q", struct.pack("<d", -2.5))[0]), "f64", -2.5),
        ("math.absi %0 : i8", ("i8", -128), "i8", -128),
        ("math.ctlz %0 : i8", ("i8", 3), "i8", 6),
        ("math.ctlz %0 : i32", ("i32", -1), "i32", 0),
        ("math.cttz %0 : i16", ("i16", 0), "i16", 16),
        ("math.cttz %0 : i16", ("i16", 24), "i16", 3),
        ("math.ctpop %0 : i8", ("i8", -1), "i8", 8),
        ("math.round %0 : f32", ("f32", 2.5), "f32", 3.0),
        ("math.round %0 : f32", ("f32", -0.49999997), "f32", 0.0),
        ("math.round %0 : f64", ("f64", 0.49999999999999994), "f64", 0.0),
        ("math.roundeven %0 : f32", ("f32", 2.5), "f32", 2.0),
        ("math.trunc %0 : bf16", ("bf16", -2.5), "bf16", -2.0),
        ("math.rsqrt %0 : f16", ("f16", 0.25), "f16", 2.0),
        ("math.exp %0 : f64", ("f64", 1.0), "f64", math.e),
        ("math.erf %0 : f64", ("f64", 0.5), "f64", math.erf(0.5)),
    ],
)
def test_numbers_of_other_types(operation: str, given: tuple[str, Any], result: str, expected: Any):
    assert run(operation, [given], result) == [expected]


@pytest.mark.parametrize(("x", "y", "expected"), [(3, 4, 81), (2, 8, 0), (-1, -3, -1), (-1, -2, 1), (1, -9, 1), (5, -1, 0), (0, 0, 1)])
def test_integer_powers(x: int, y: int, expected: int):
    assert run("math.ipowi %0, %1 : i8", [("i8", x), ("i8", y)], "i8") == [signed(expected, "i8")]


@pytest.mark.parametrize("operation", ["arith.divsi", "arith.remui", "arith.floordivsi", "arith.ceildivui"])
def test_division_by_zero_is_an_error(operation: str):
    with pytest.raises(InterpreterError, match=rf"{operation}: division by zero"):
        run(f"{operation} %0, %1 : i32", [("i32", 3), ("i32", 0)], "i32")


REALS = (-math.inf, -2.5, -0.0, 0.0, 1.0, 3.0, 1e4, math.inf, math.nan)


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_compare_with_and_without_nan(kind: str):
    ordered: dict[str, Callable[[float, float], bool]] = {
        "eq": lambda x, y: x == y,
        "gt": lambda x, y: x > y,
        "ge": lambda x, y: x >= y,
        "lt": lambda x, y: x < y,
        "le": lambda x, y: x <= y,
        "ne": lambda x, y: x != y,
    }
    for x in REALS:
        for y in REALS:
            nan = math.isnan(x) or math.isnan(y)
            expected = {"false": False, "true": True, "ord": not nan, "uno": nan}
            for name, compare in ordered.items():
                expected[f"o{name}"] = not nan and compare(x, y)
                expected[f"u{name}"] = nan or compare(x, y)
            for name, holds in expected.items():
                assert run(f"arith.cmpf {name}, %0, %1 : {kind}", [(kind, x), (kind, y)], "i1") == [holds], (name, x, y)


@pytest.mark.parametrize("kind", FLOATS)
def test_extrema_of_zeros_and_nan(kind: str):
    for x in REALS:
        for y in REALS:
            larger = y if (x, math.copysign(1, x)) < (y, math.copysign(1, y)) else x
            smaller = x if larger is y else y
            nan = math.isnan(x) or math.isnan(y)
            other = y if math.isnan(x) else x
            expected = {"maximumf": math.nan if nan else larger, "minimumf": math.nan if nan else smaller}
            expected |= {"maxnumf": other if nan else larger, "minnumf": other if nan else smaller}
            for name, wanted in expected.items():
                (found,) = run(f"arith.{name} %0, %1 : {kind}", [(kind, x), (kind, y)], kind)
                assert found == np.asarray(wanted).astype(DTYPES[kind]).item() or (math.isnan(found) and math.isnan(wanted)), (name, x, y)
                if "num" not in name and not nan:
                    assert math.copysign(1, found) == math.copysign(1, wanted), (name, x, y)


@pytest.mark.parametrize("kind", FLOATS)
def test_floats_are_rounded_to_their_type_each_time(kind: str):
    choice = np.random.default_rng(3)
    operations: dict[str, Callable[[Fraction, Fraction], Fraction]] = {
        "addf": lambda x, y: x + y,
        "subf": lambda x, y: x - y,
        "mulf": lambda x, y: x * y,
        "divf": lambda x, y: x / y,
    }
    for _ in range(20):
        x, y = (float(np.asarray(value).astype(DTYPES[kind])) for value in choice.standard_normal(2))
        for name, compute in operations.items():
            exact = compute(Fraction(x), Fraction(y))
            (found,) = run(f"arith.{name} %0, %1 : {kind}", [(kind, x), (kind, y)], kind)
            # Nothing that the type has lies nearer to the exact result.
            number = np.asarray(found).astype(DTYPES[kind])
            for side in (-np.inf, np.inf):
                neighbour = np.nextafter(number, np.asarray(side).astype(DTYPES[kind]))
                assert abs(Fraction(found) - exact) <= abs(Fraction(float(neighbour)) - exact), (name, x, y)


def test_a_multiplication_and_an_addition_round_once():
    x, z = np.float32(1 + 2**-12), np.float32(-1 - 2**-11)
    assert x * x + z == 0
    assert run("math.fma %0, %1, %2 : f32", [("f32", x), ("f32", x), ("f32", z)], "f32") == [2**-24]


@pytest.mark.parametrize(
    ("constant", "expected"),
    [
        ("255 : i8", -1),
        ("-1 : i8", -1),
        ("true", True),
        ("-9223372036854775808 : i64", -(2**63)),
        ("0x7F800000 : f32", math.inf),
        ("0.1 : bf16", 0.10009765625),
        ("7 : index", 7),
    ],
)
def test_constants(constant: str, expected: Any):
    kind = "i1" if constant == "true" else constant.rpartition(" : ")[2]
    assert run(f"arith.constant {constant}", [], kind) == [expected]


def test_variadic_arithmetic():
    kinds = [("i8", value) for value in (100, 100, 3)]
    assert run("varith.add %0, %1, %2 : i8", kinds, "i8") == [signed(203, "i8")]
    assert run("varith.mul %0, %1, %2 : i8", kinds, "i8") == [signed(30000, "i8")]
    floats = [("f32", value) for value in (1e8, 1.0, -1e8)]
    assert run("varith.add %0, %1, %2 : f32", floats, "f32") == [0.0]


UNARY: dict[str, Callable[[float], float]] = {
    "absf": abs,
    "acos": math.acos,
    "acosh": math.acosh,
    "asin": math.asin,
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": math.atanh,
    "cbrt": math.cbrt,
    "ceil": math.ceil,
    "cos": math.cos,
    "cosh": math.cosh,
    "erf": math.erf,
    "exp": math.exp,
    "exp2": math.exp2,
    "expm1": math.expm1,
    "floor": math.floor,
    "log": math.log,
    "log10": math.log10,
    "log1p": math.log1p,
    "log2": math.log2,
    "roundeven": round,
    "round": lambda x: math.copysign(math.floor(abs(x) + 0.5), x),
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sin": math.sin,
    "sinh": math.sinh,
    "sqrt": math.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
    "trunc": math.trunc,
}
BINARY: dict[str, Callable[[float, float], float]] = {"atan2": math.atan2, "copysign": math.copysign, "powf": math.pow}
POINTS = (-2.5, -0.75, 0.25, 0.75, 1.5, 3.5)
ROUNDING = {"f16": 2e-3, "bf16": 2e-2, "f32": 1e-6, "f64": 1e-14}


@pytest.mark.parametrize("kind", FLOATS)
def test_functions_are_those_of_their_names(kind: str):
    checked = 0
    for name, function in (*UNARY.items(), *BINARY.items()):
        for x in POINTS:
            given = (x,) if name in UNARY else (x, 3.0)
            try:
                expected = float(function(*given))
            except ValueError:
                continue
            operands = ", ".join(f"%{index}" for index in range(len(given)))
            (found,) = run(f"math.{name} {operands} : {kind}", [(kind, value) for value in given], kind)
            assert found == pytest.approx(expected, rel=ROUNDING[kind]), (name, x)
            checked += 1
    assert checked > 150
    assert run(f"math.fpowi %0, %1 : {kind}, i32", [(kind, 1.5), ("i32", -2)], kind) == [pytest.approx(1 / 2.25, rel=ROUNDING[kind])]


def test_every_operation_of_these_dialects_has_a_meaning():
    for dialect in (arith.Arith, cf.Cf, math_dialect.Math, scf.Scf, tensor.Tensor, varith.Varith):
        for kind in dialect.operations:
            ends = kind.has_trait(IsTerminator)
            assert ends or interpreter_function(kind.create()) is not None, kind.name


@pytest.mark.parametrize("shape", [(9, 3), (2, 4), (3,)])
def test_an_input_beyond_its_bounds_is_told_of_them(shape: tuple[int, ...]):
    kind = "tensor<?x3xf32, #edge.layout<sizes = [s0 in [1, 8], 3]>>"
    text = f"func.func @f(%x: {kind}) -> {kind} {{ %r = edge.relu(%x) : ({kind}) -> {kind} func.return %r : {kind} }}"
    context = FlambeauContext()
    module = parse_module(text, context).module
    Pipeline.parse("edge-to-exec,plan").run(module, context)
    with pytest.raises(InterpreterError, match=re.escape(f"input 'input_0' must have at most the shape [8, 3], got {list(shape)}")):
        interpret(module, context).run("f", [np.zeros(shape, np.float32)])
