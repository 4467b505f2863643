"""Runs the test cases of a bundled program, and compares the outputs with the expected ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flambeau.runtime.bundled_program.bundle_records import BundledMethodTestCase
from flambeau.runtime.bundled_program.bundled_values import decode_value
from flambeau.support.lazy import np

if TYPE_CHECKING:
    from flambeau.support.lazy import Array

Runner = Callable[[Sequence[Any]], Sequence[Any]]
"""A function from the leaves of a method's inputs to those of its outputs."""

RTOL = 1e-5
ATOL = 1e-8
"""The tolerances of ExecuTorch's `verify_result_with_bundled_expected_output`, as numpy's `isclose` has them."""


@dataclass(frozen=True)
class CaseResult:
    """The result of one test case.

    Attributes:
        method: the name of the method.
        case: the number of the case.
        compared: the number of outputs that were compared; 0 for a case that expects none.
        difference: the greatest absolute difference of an output; infinite if shapes, types, infinities or NaN differ.
        failures: a message for each output that is not as expected.
    """

    method: str
    case: int
    compared: int
    difference: float
    failures: tuple[str, ...] = ()

    @property
    def passed(self) -> bool:
        """Whether all outputs are as expected."""
        return not self.failures

    def __str__(self) -> str:
        where = f"{self.method}, case {self.case}"
        if self.failures:
            return f"{where}: failed: {'; '.join(self.failures)}"
        if not self.compared:
            return f"{where}: ran; it expects no outputs"
        return f"{where}: passed, {self.compared} output{'s' if self.compared > 1 else ''}, max |Δ| {self.difference:.1e}"


def verify_case(
    method: str, number: int, case: BundledMethodTestCase, runner: Runner, *, rtol: float = RTOL, atol: float = ATOL
) -> CaseResult:
    """Runs a test case, and returns the comparison of its outputs. Floats may differ by `atol + rtol * |expected|`, integers not at all.

    Raises:
        ValueError: the method fails on these inputs.
    """
    outputs = runner([decode_value(value) for value in case.inputs])
    if not case.expected_outputs:
        return CaseResult(method, number, 0, 0.0)
    return compare_outputs(method, number, case, outputs, rtol=rtol, atol=atol)


def compare_outputs(
    method: str, number: int, case: BundledMethodTestCase, outputs: Sequence[Any], *, rtol: float, atol: float
) -> CaseResult:
    """Returns the comparison of `outputs` with the outputs that a test case expects, with the tolerances of `verify_case`."""
    expected = [decode_value(value) for value in case.expected_outputs]
    if len(expected) != len(outputs):
        text = f"there are {len(outputs)} outputs, expected are {len(expected)}"
        return CaseResult(method, number, len(expected), float("inf"), (text,))
    differences: list[float] = []
    failures: list[str] = []
    for index, (wanted, found) in enumerate(zip(expected, outputs, strict=True)):
        difference, why = _compare(np.asarray(wanted), np.asarray(found), rtol, atol)
        differences.append(difference)
        if why is not None:
            failures.append(f"output {index}: {why}")
    return CaseResult(method, number, len(expected), max(differences), tuple(failures))


def _compare(expected: Array, found: Array, rtol: float, atol: float) -> tuple[float, str | None]:
    if (expected.dtype, expected.shape) != (found.dtype, found.shape):
        wanted, got = (f"{item.dtype} {list(item.shape)}" for item in (expected, found))
        return float("inf"), f"{got} instead of {wanted}"
    if expected.dtype.kind in "biu":
        wrong = int(np.count_nonzero(expected != found))
        delta = np.abs(expected.astype(np.float64) - found.astype(np.float64))
        return float(delta.max(initial=0.0)), f"{wrong} of {expected.size} elements differ" if wrong else None
    wide = np.complex128 if expected.dtype.kind == "c" else np.float64
    a, b = expected.astype(wide), found.astype(wide)
    close = np.isclose(b, a, rtol=rtol, atol=atol, equal_nan=True)
    with np.errstate(invalid="ignore"):
        delta = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
    most = float(np.where(np.isnan(delta), np.inf, delta).max(initial=0.0))
    wrong = int(np.count_nonzero(~close))
    return most, f"{wrong} of {a.size} elements differ, max |Δ| {most:.1e}" if wrong else None
