"""Functions of elements one after the other, in one dispatch."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xdsl.ir import SSAValue

from flambeau.backends.vulkan.dialect.elementwise import ARITHMETIC, BINARY, FUNCTIONS, BinaryKernelOp, FunctionKernelOp
from flambeau.backends.vulkan.dialect.kernels import (
    Dispatch,
    KernelOp,
    Numbers,
    broadcast_strides,
    elements,
    like,
    merged,
    over,
    require_alike,
    vulkan,
    word,
)
from flambeau.dialects.ir.tensor_types import Tensor, broadcast, shape_of
from flambeau.support.lazy import Array

MOST_INPUTS = 4
MOST_STEPS = 8
OF_TWO: dict[str, type[BinaryKernelOp]] = {**ARITHMETIC, **BINARY}
"""The functions of two numbers by their names in this dialect."""
_OF_TWO_FROM = 64
"""Numbers of functions of two numbers begin here in `runtime/shaders/chain.comp`."""


@dataclass(frozen=True)
class Step:
    """A function of numbers: its name, the numbers of what it reads, inputs before the results of steps, and its parameters."""

    name: str
    operands: Numbers
    parameters: tuple[float, ...] = ()

    def __str__(self) -> str:
        return " ".join(map(str, (self.name, *self.operands, *self.parameters)))

    @property
    def number(self) -> int:
        """The number of the function in `runtime/shaders/chain.comp`."""
        return FUNCTIONS[self.name].number if self.name in FUNCTIONS else _OF_TWO_FROM + OF_TWO[self.name].number


def read_steps(text: str, inputs: int) -> list[Step]:
    """Returns the steps of a text, `add 0 1; clamp 2 0.0 6.0`. Raises ValueError for what is no function of what is there before."""
    steps: list[Step] = []
    for item in text.split(";"):
        name, *rest = item.split() or [""]
        count = 2 if name in OF_TWO else 1
        kind = OF_TWO.get(name) or FUNCTIONS.get(name)
        try:
            step = Step(name, tuple(map(int, rest[:count])), tuple(map(float, rest[count:])))
        except ValueError:
            step = None
        if kind is None or step is None or len(rest) != len(kind.schema.arguments):
            raise ValueError(f"{item.strip()!r} is no function with the numbers of what it reads, and its parameters")
        if not all(0 <= operand < inputs + len(steps) for operand in step.operands):
            raise ValueError(f"{item.strip()!r} reads what is not there before it")
        steps.append(step)
    if not 1 <= inputs <= MOST_INPUTS or len(steps) > MOST_STEPS:
        raise ValueError(f"it has {inputs} inputs and {len(steps)} steps, and there may be {MOST_INPUTS} and {MOST_STEPS}")
    return steps


def period(value: SSAValue, shape: Sequence[int]) -> tuple[int, int] | None:
    """Returns how a tensor is read in a larger shape: element i / first % second; the first is 0 for element i. None: in another way."""
    sizes, (steps,) = merged(shape, broadcast_strides(value, shape))
    read = [place for place, step in enumerate(steps) if step != 0]
    if not read:
        return (0, 1) if not sizes else (1, 1)
    if len(read) > 1:
        return None
    (place,) = read
    return (0, 1) if len(sizes) == 1 else (prod(sizes[place + 1 :]), sizes[place])


@vulkan("chain(Tensor[] inputs, *, str steps) -> Tensor")
class ChainKernelOp(KernelOp):
    """Steps, each a function of elements of the inputs and of results of steps before; the last one's is the result.

    A step is the name of an operator of this dialect, the numbers of what it reads, and its parameters: `add 0 1; clamp 2 0.0 6.0`.
    """

    @staticmethod
    def infer(inputs: Sequence[Tensor], /, steps: str) -> Tensor:
        require_alike(inputs[0], *inputs)
        read_steps(steps, len(inputs))
        return like(inputs[0], broadcast(*map(shape_of, inputs)))

    @staticmethod
    def numpy(inputs: Sequence[Array], /, steps: str) -> Array:
        found = list(inputs)
        for step in read_steps(steps, len(inputs)):
            kind = OF_TWO.get(step.name) or FUNCTIONS[step.name]
            found.append(kind.call("numpy", [*(found[operand] for operand in step.operands), *step.parameters]))
        return found[-1]

    def dispatches(self) -> list[Dispatch]:
        shape, count, inputs = shape_of(self.result), elements(self.result), len(self.operands)
        steps = read_steps(self.argument("steps"), inputs)
        constants = [inputs, len(steps)]
        parameters: list[int] = []
        for step in steps:
            # What is read is numbered in the shader with room for all inputs.
            places = [operand if operand < inputs else operand - inputs + MOST_INPUTS for operand in step.operands]
            constants += [step.number, places[0], places[-1]]
            parameters += [word(number) for number in (*step.parameters, 0.0, 0.0)[:2]]
        values = [*self.operands, *[self.operands[0]] * (MOST_INPUTS - inputs)]
        periods: list[int] = []
        for value in values:
            periods += period(value, shape) or (0, 1)
        return [Dispatch("chain", tuple(constants), (count, *periods, *parameters), (*values, self.result), over(count))]


def step_of(op: FunctionKernelOp | BinaryKernelOp, operands: Numbers) -> Step:
    """Returns an operator as a step that reads values of these numbers."""
    return Step(op.schema.base, operands, tuple(float(value) for value in op.arguments()[len(operands) :]))
