"""Test cases, and the program with which they are bundled, under ExecuTorch's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Protocol, cast

from flambeau.runtime.binding.metadata import DTYPE_NAMES
from flambeau.runtime.bundled_program import bundle_records as schema
from flambeau.runtime.bundled_program.bundle_file import write_bundled_program
from flambeau.runtime.bundled_program.bundle_records import BundleError
from flambeau.runtime.bundled_program.bundled_values import encode_value
from flambeau.runtime.pte import ExecutionPlan, TensorShapeDynamism, read_program
from flambeau.runtime.pte import Tensor as PlannedTensor
from flambeau.runtime.pte.records import Bool, Double, Int
from flambeau.support.files import write_bytes
from flambeau.support.suggestions import did_you_mean

_KINDS: dict[type, str] = {schema.Tensor: "a tensor", Int: "an int", Bool: "a bool", Double: "a float"}


class HasBuffer(Protocol):
    """A finished program: `ExecutorchProgramManager` of Flambeau or of ExecuTorch."""

    @property
    def buffer(self) -> bytes:
        """The bytes of the `.pte`."""
        ...


class MethodTestCase:
    """The inputs of one execution of a method, and the expected outputs.

    Attributes:
        inputs: the leaves of the inputs, in order: tensors, ints, bools, floats.
        expected_outputs: the leaves of the outputs; none if the case only runs the method.
    """

    def __init__(self, inputs: object, expected_outputs: object = None):
        """Makes a case of the model's inputs and outputs, nested in tuples, lists and dicts. Raises TypeError for other values."""
        self.inputs = list(_leaves(inputs, "inputs"))
        self.expected_outputs = [] if expected_outputs is None else list(_leaves(expected_outputs, "expected_outputs"))


def _leaves(value: Any, where: str) -> Iterator[Any]:
    if isinstance(value, Mapping):
        value = list(cast("Mapping[object, object]", value).values())
    if isinstance(value, list | tuple):
        for item in cast("Sequence[object]", value):
            yield from _leaves(item, where)
    elif isinstance(value, bool | int | float) or hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        yield value
    else:
        raise TypeError(f"{where} of a MethodTestCase are tensors, ints, bools and floats, not {type(value).__name__}")


@dataclass
class MethodTestSuite:
    """The test cases of one method."""

    method_name: str
    test_cases: Sequence[MethodTestCase]


class BundledProgram:
    """A program with test cases for its methods. `serialize_from_bundled_program_to_flatbuffer` or `save` writes it.

    Attributes:
        executorch_program: the program; None if it was given as a file.
        method_test_suites: the test cases, sorted by the names of methods.
    """

    def __init__(
        self,
        executorch_program: HasBuffer | None,
        method_test_suites: Sequence[MethodTestSuite],
        pte_file_path: str | PathLike[str] | None = None,
    ):
        """Bundles a program, or a `.pte` file, with test cases.

        Raises:
            BundleError: the program lacks a method that has cases, or a case does not fit its method.
            PteError, OSError: the file is not a program, or cannot be read.
        """
        if (executorch_program is None) == (pte_file_path is None):
            raise BundleError("a bundled program has one program: give executorch_program or pte_file_path")
        self.executorch_program = executorch_program
        self.method_test_suites = sorted(method_test_suites, key=lambda suite: suite.method_name)
        self._program = Path(pte_file_path).read_bytes() if pte_file_path is not None else cast(HasBuffer, executorch_program).buffer
        plans = {plan.name: plan for plan in read_program(self._program).execution_plan}
        names = [suite.method_name for suite in self.method_test_suites]
        for name in names:
            if name not in plans:
                help = did_you_mean(name, plans) or f"; it has {', '.join(plans)}"
                raise BundleError(f"the program has no method {name!r}{help}")
            if names.count(name) > 1:
                raise BundleError(f"there are two test suites for method {name!r}: put their cases into one")
        self._schema = schema.BundledProgram(
            method_test_suites=tuple(_suite(suite, plans[suite.method_name]) for suite in self.method_test_suites),
            program=memoryview(self._program),
        )

    def serialize_to_schema(self) -> schema.BundledProgram:
        """Returns the records of the file."""
        return self._schema

    def save(self, path: str | PathLike[str]) -> None:
        """Writes the `.bpte` file."""
        write_bytes(path, serialize_from_bundled_program_to_flatbuffer(self))


def serialize_from_bundled_program_to_flatbuffer(bundled_program: BundledProgram) -> bytes:
    """Returns the bytes of the `.bpte` of a bundled program."""
    return write_bundled_program(bundled_program.serialize_to_schema())


def _suite(suite: MethodTestSuite, plan: ExecutionPlan) -> schema.BundledMethodTestSuite:
    cases: list[schema.BundledMethodTestCase] = []
    for number, case in enumerate(suite.test_cases):
        where = f"method {plan.name!r}, test case {number}"
        inputs = _values(case.inputs, plan, plan.inputs, f"{where}, input")
        outputs = _values(case.expected_outputs, plan, plan.outputs, f"{where}, expected output") if case.expected_outputs else ()
        cases.append(schema.BundledMethodTestCase(inputs, outputs))
    return schema.BundledMethodTestSuite(suite.method_name, tuple(cases))


def _values(given: Sequence[object], plan: ExecutionPlan, indices: Sequence[int], where: str) -> tuple[schema.Value, ...]:
    if len(given) != len(indices):
        raise BundleError(f"{where}s: the method has {len(indices)}, the test case {len(given)}")
    return tuple(
        _fitting(value, plan.values[index], f"{where} {number}") for number, (value, index) in enumerate(zip(given, indices, strict=True))
    )


def _fitting(given: object, slot: object, where: str) -> schema.Value:
    """Returns the record of a value. Raises BundleError unless it has the kind, type and shape of a slot of the program."""
    is_tensor = isinstance(slot, PlannedTensor)
    wanted = schema.Tensor if is_tensor else type(slot)
    if wanted not in _KINDS:
        raise BundleError(f"{where}: the program has a {type(slot).__name__} here, which the format of test cases does not have")
    value = encode_value(given, slot.dim_order if is_tensor else None, where)
    if not isinstance(value, wanted):
        raise BundleError(f"{where}: expected {_KINDS[wanted]}, got {_KINDS[type(value)]}")
    if isinstance(value, schema.Tensor) and is_tensor:
        names = [DTYPE_NAMES.get(item.scalar_type, item.scalar_type.name) for item in (slot, value)]
        if names[0] != names[1]:
            raise BundleError(f"{where}: expected {names[0]}, got {names[1]}")
        if slot.shape_dynamism is TensorShapeDynamism.STATIC and slot.sizes != value.sizes:
            raise BundleError(f"{where}: expected a shape of {list(slot.sizes)}, got {list(value.sizes)}")
    return value
