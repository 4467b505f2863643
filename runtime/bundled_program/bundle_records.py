"""The records of a `.bpte`, which are a program and its test cases, and the tables of the format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from flambeau.runtime.flatbuffer import Data, FlatbufferError, Refs, Scalar, Scalars, Table, Text, Union
from flambeau.runtime.pte.records import EMPTY, Bool, Double, Int, ScalarType, dense_bytes

BUNDLED_PROGRAM_SCHEMA_VERSION = 2


class BundleError(FlatbufferError):
    """Reports bytes that are not a bundled program, or test cases that do not fit its program, in one line for people."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor, whose elements are dense in `data`; `dim_order` has the dimensions from the outermost to the innermost."""

    scalar_type: ScalarType
    sizes: tuple[int, ...] = ()
    data: memoryview = EMPTY
    dim_order: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """The bytes of the elements."""
        return dense_bytes(self.scalar_type, self.sizes)


Value: TypeAlias = Tensor | Int | Bool | Double
"""The kinds of values that a test case may hold."""


@dataclass(frozen=True, slots=True)
class BundledMethodTestCase:
    """The inputs of one execution, and the expected outputs; without expected outputs, the case only runs the method."""

    inputs: tuple[Value, ...] = ()
    expected_outputs: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class BundledMethodTestSuite:
    """The test cases of one method."""

    method_name: str
    test_cases: tuple[BundledMethodTestCase, ...] = ()


@dataclass(frozen=True, slots=True)
class BundledProgram:
    """The content of a whole file: `program` has the bytes of a `.pte`."""

    version: int = BUNDLED_PROGRAM_SCHEMA_VERSION
    method_test_suites: tuple[BundledMethodTestSuite, ...] = ()
    program: memoryview = EMPTY


TENSOR = Table(
    Tensor, {"scalar_type": Scalar("b", ScalarType), "sizes": Scalars("i"), "data": Data(alignment=16), "dim_order": Scalars("B")}
)
VALUE = Union(
    "Value",
    (
        TENSOR,
        Table(Int, {"int_val": Scalar("q")}),
        Table(Bool, {"bool_val": Scalar("?", bool)}),
        Table(Double, {"double_val": Scalar("d", float)}),
    ),
)
CASE = Table(BundledMethodTestCase, {"inputs": Refs(VALUE), "expected_outputs": Refs(VALUE)})
SUITE = Table(BundledMethodTestSuite, {"method_name": Text(required=True), "test_cases": Refs(CASE)})
BUNDLED_PROGRAM = Table(BundledProgram, {"version": Scalar("I"), "method_test_suites": Refs(SUITE), "program": Data(alignment=32)})
