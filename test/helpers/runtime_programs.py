"""Small programs for the tests of the runtime."""

import sysconfig
from pathlib import Path
from typing import Any

from flambeau.backends.elementwise.payload import LOAD, STORE, Instruction, Payload
from flambeau.runtime import Method, Program, Runtime, pte
from flambeau.runtime.binding.library import find_library

PROGRAMS = Path(__file__).parents[2] / "runtime" / "c" / "test" / "programs"
FLOAT, LONG, BOOL = pte.ScalarType.FLOAT, pte.ScalarType.LONG, pte.ScalarType.BOOL

OURS = pte.BackendDelegate(
    "FlambeauElementwise", memoryview(Payload(1, 1, 1, (1,), (Instruction(LOAD, 0), Instruction(STORE, 0))).encode())
)
"""A delegate of a backend that only Flambeau has: other runtimes refuse to load a method with it, whether or not the method calls it."""


def stock(name: str) -> Path:
    """A program that stock ExecuTorch wrote (test/make_programs.py)."""
    return PROGRAMS / f"{name}.pte"


def executable(name: str = "flambeau-run") -> Path:
    """A program of the build whose library is used: beside it in a build folder, among the commands of an installed package."""
    folders = [find_library().parent, Path(sysconfig.get_path("scripts"))]
    return next(folder / name for folder in folders if (folder / name).exists())


def tensor(*sizes: int, at: int | None = None, type: pte.ScalarType = FLOAT, **fields: Any) -> pte.Tensor:
    """A tensor, contiguous unless `dim_order` is given, planned at byte `at` of arena 1 or not at all."""
    place = None if at is None else pte.AllocationDetails.at(1, at)
    fields = {"dim_order": tuple(range(len(sizes))), **fields}
    return pte.Tensor(scalar_type=type, sizes=sizes, allocation_info=place, **fields)


def call(operator: int, *args: int) -> pte.KernelCall:
    """Calls an operator of the plan."""
    return pte.KernelCall(operator, args)


def plan(
    values: list[pte.Value],
    instructions: list[pte.Instruction],
    operators: list[str],
    inputs: list[int],
    outputs: list[int],
    arena: int = 256,
    name: str = "forward",
    delegates: tuple[pte.BackendDelegate, ...] = (OURS,),
) -> pte.ExecutionPlan:
    """A method with one arena; operators such as "aten::add.out".

    Other runtimes need not survive what tests have wrong here, so they refuse the method: OURS is the first of its delegates.
    """
    parts = [operator.partition(".") for operator in operators]
    return pte.ExecutionPlan(
        name=name,
        values=tuple(values),
        inputs=tuple(inputs),
        outputs=tuple(outputs),
        chains=(pte.Chain(instructions=tuple(instructions)),),
        operators=tuple(pte.Operator(base, overload) for base, _, overload in parts),
        delegates=delegates,
        non_const_buffer_sizes=(0, arena),
    )


def write(*plans: pte.ExecutionPlan, **fields: Any) -> bytes:
    """The bytes of a program."""
    return b"".join(pte.write_program(pte.Program(execution_plan=plans, **fields)))


def load(*plans: pte.ExecutionPlan, **fields: Any) -> Program:
    """A program of these methods, loaded."""
    return Runtime.get().load_program(write(*plans, **fields))


def method(*plans: pte.ExecutionPlan, **fields: Any) -> Method:
    """The only method of a program, loaded."""
    return load(*plans, **fields).load_method(plans[0].name)


def add_plan(**fields: Any) -> pte.ExecutionPlan:
    """x + y of shape [2, 3]."""
    values: list[pte.Value] = [tensor(2, 3, at=0), tensor(2, 3, at=32), pte.Int(1), tensor(2, 3, at=64)]
    return plan(values, [call(0, 0, 1, 2, 3, 3)], ["aten::add.out"], [0, 1], [3], **fields)
