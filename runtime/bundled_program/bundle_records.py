"""The records of a `.bpte`, and the tables of its format: a program, and inputs with the outputs that its methods should give."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from flambeau.runtime.flatbuffer import Data, FlatbufferError, Refs, Scalar, Scalars, Table, Text, Union
from flambeau.runtime.pte.records import EMPTY, Bool, Double, Int, ScalarType, dense_bytes

IDENTIFIER = b"BP08"
BUNDLED_PROGRAM_SCHEMA_VERSION = 2


class BundleError(FlatbufferError):
    """Bytes that are not a bundled program, or test cases that do not fit its program. One line, for people."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """A tensor's elements, which lie densely in the order of `dim_order`, the outermost dimension first."""

    scalar_type: ScalarType
    sizes: tuple[int, ...] = ()
    data: memoryview = EMPTY
    dim_order: tuple[int, ...] = ()

    @property
    def nbytes(self) -> int:
        """Bytes of the elements."""
        return dense_bytes(self.scalar_type, self.sizes)


Value: TypeAlias = Tensor | Int | Bool | Double
"""The kinds of values that a test case may hold."""


@dataclass(frozen=True, slots=True)
class BundledMethodTestCase:
    """The inputs of one execution, and the outputs that it should have; none, where it is only to be run."""

    inputs: tuple[Value, ...] = ()
    expected_outputs: tuple[Value, ...] = ()


@dataclass(frozen=True, slots=True)
class BundledMethodTestSuite:
    """The test cases of one method."""

    method_name: str
    test_cases: tuple[BundledMethodTestCase, ...] = ()


@dataclass(frozen=True, slots=True)
class BundledProgram:
    """A whole file: `program` is a `.pte`."""

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
