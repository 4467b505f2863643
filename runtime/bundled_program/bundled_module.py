"""Loads a bundled program into the C runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from flambeau.runtime.binding.library import FlambeauError, Status
from flambeau.runtime.binding.loaded_program import Runtime
from flambeau.runtime.bundled_program.bundle_file import read_bundled_program
from flambeau.runtime.bundled_program.bundle_records import BundledMethodTestCase, BundleError
from flambeau.runtime.bundled_program.bundled_values import decode_value
from flambeau.runtime.bundled_program.verification import ATOL, RTOL, CaseResult, Runner, compare_outputs, verify_case
from flambeau.support.suggestions import did_you_mean


class BundledModule:
    """A loaded `.bpte`, whose test cases the C runtime runs. Each run begins with the initial values of mutable buffers."""

    def __init__(
        self,
        data: str | PathLike[str] | bytes | bytearray | memoryview,
        *,
        backend_options: Mapping[str, Mapping[str, object]] | None = None,
    ):
        """Loads a `.bpte` from a path, or from its bytes.

        Raises:
            BundleError: the bytes are not a bundled program, or are damaged.
            FlambeauError: the program in it is damaged, or `backend_options` names an unknown backend.
            OSError: the file cannot be read.
        """
        try:
            self.bundle = read_bundled_program(Path(data).read_bytes() if isinstance(data, str | PathLike) else data)
        except BundleError as error:
            raise BundleError(f"{data}: {error}") if isinstance(data, str | PathLike) else error from None
        self._options = backend_options
        self._program = bytes(self.bundle.program)
        Runtime.get().load_program(self._program, backend_options=backend_options)

    @property
    def cases(self) -> list[tuple[str, int]]:
        """The method's name and the number of each test case."""
        return [(suite.method_name, number) for suite in self.bundle.method_test_suites for number in range(len(suite.test_cases))]

    def _case(self, method_name: str, testset_idx: int) -> BundledMethodTestCase:
        suites = {suite.method_name: suite.test_cases for suite in self.bundle.method_test_suites}
        if method_name not in suites:
            help = did_you_mean(method_name, suites) or f"; it has them for {', '.join(suites) or 'none'}"
            raise FlambeauError(Status.NOT_FOUND, f"the bundled program has no test cases for method {method_name!r}{help}")
        if not 0 <= testset_idx < len(suites[method_name]):
            text = f"method {method_name!r} has no test case {testset_idx}; it has {len(suites[method_name])}, counted from 0"
            raise FlambeauError(Status.INVALID_ARGUMENT, text)
        return suites[method_name][testset_idx]

    def _runner(self, method_name: str) -> Runner:
        """Returns a newly loaded method, whose mutable buffers have their initial values."""
        return Runtime.get().load_program(self._program, backend_options=self._options).load_method(method_name).execute

    def verify_result_with_bundled_expected_output(
        self, method_name: str, testset_idx: int, rtol: float = RTOL, atol: float = ATOL
    ) -> list[Any]:
        """Runs a test case, and returns its outputs if they are as expected: see `verify`.

        Raises:
            FlambeauError: the outputs differ, the case expects none, there is no such case, or the method fails.
        """
        case = self._case(method_name, testset_idx)
        if not case.expected_outputs:
            raise FlambeauError(Status.NOT_SUPPORTED, f"{method_name}, case {testset_idx}: it expects no outputs")
        outputs = self._runner(method_name)([decode_value(value) for value in case.inputs])
        result = compare_outputs(method_name, testset_idx, case, outputs, rtol=rtol, atol=atol)
        if not result.passed:
            raise FlambeauError(Status.INVALID_STATE, str(result))
        return [*outputs]

    def verify(self, methods: Sequence[str] | None = None, rtol: float = RTOL, atol: float = ATOL) -> list[CaseResult]:
        """Runs all test cases, or those of some methods, and returns their results.

        Raises:
            FlambeauError: a method fails.
        """
        return [
            verify_case(name, number, self._case(name, number), self._runner(name), rtol=rtol, atol=atol)
            for name, number in self.cases
            if methods is None or name in methods
        ]
