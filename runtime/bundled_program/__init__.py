"""Bundled programs (`.bpte`): a program, and test cases with the outputs expected of its methods. The names are ExecuTorch's."""

from flambeau.runtime.bundled_program.bundle_file import is_bundled_program, read_bundled_program, write_bundled_program
from flambeau.runtime.bundled_program.bundle_records import BundleError
from flambeau.runtime.bundled_program.bundled_module import BundledModule
from flambeau.runtime.bundled_program.method_suites import (
    BundledProgram,
    MethodTestCase,
    MethodTestSuite,
    serialize_from_bundled_program_to_flatbuffer,
)
from flambeau.runtime.bundled_program.verification import CaseResult, verify_case

__all__ = [
    "BundleError",
    "BundledModule",
    "BundledProgram",
    "CaseResult",
    "MethodTestCase",
    "MethodTestSuite",
    "is_bundled_program",
    "read_bundled_program",
    "serialize_from_bundled_program_to_flatbuffer",
    "verify_case",
    "write_bundled_program",
]
