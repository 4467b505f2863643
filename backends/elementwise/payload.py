"""The payload: a program for a register machine, run once per element. `runtime/elementwise.c` is its other reader.

All numbers are little-endian. A header of 32 bytes: the magic "FLEW", the version (uint32), how many inputs, outputs, registers and
instructions (uint32 each), how many elements (uint64). Then 8 bytes per instruction: the operation, a target, two sources (uint8 each),
a number (float32) that only `constant` uses. Fields that an operation does not use are 0.

`load` reads the input `first` into the register `target`, `store` writes the register `first` to the output `target`; the others compute
registers from registers. A register is written before it is read, and each output is stored exactly once.
"""

from __future__ import annotations

import operator
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from flambeau.passes.delegation.interface import BackendError
from flambeau.support.lazy import Array, np

MAGIC = b"FLEW"
VERSION = 1
LIMIT = 255
"""The most inputs, outputs and registers each."""

_HEADER = struct.Struct("<4sIIIIIQ")
_INSTRUCTION = struct.Struct("<BBBBf")

LOAD, STORE, CONSTANT = 0, 1, 2
"""Operations that move data; those that compute follow."""


@dataclass(frozen=True)
class Computation:
    """An operation that computes: its code, how many registers it reads, its meaning."""

    code: int
    arity: int
    numpy: Callable[..., Any]


def _sigmoid(x: Array) -> Array:
    # The exponential of a negative number never overflows.
    small = np.exp(-np.abs(x))
    return np.where(x < 0, small / (1 + small), 1 / (1 + small))


def _relu(x: Array) -> Array:
    return np.maximum(x, np.float32(0))


def _div(a: Array, b: Array) -> Array:
    return a / b


def _maximum(a: Array, b: Array) -> Array:
    return np.maximum(a, b)


def _minimum(a: Array, b: Array) -> Array:
    return np.minimum(a, b)


def _tanh(x: Array) -> Array:
    return np.tanh(x)


def _exp(x: Array) -> Array:
    return np.exp(x)


def _log(x: Array) -> Array:
    return np.log(x)


def _sqrt(x: Array) -> Array:
    return np.sqrt(x)


def _rsqrt(x: Array) -> Array:
    return 1 / np.sqrt(x)


def _reciprocal(x: Array) -> Array:
    return 1 / x


OPERATIONS: dict[str, Computation] = {
    "add": Computation(3, 2, operator.add),
    "sub": Computation(4, 2, operator.sub),
    "mul": Computation(5, 2, operator.mul),
    "div": Computation(6, 2, _div),
    "maximum": Computation(7, 2, _maximum),
    "minimum": Computation(8, 2, _minimum),
    "neg": Computation(9, 1, operator.neg),
    "abs": Computation(10, 1, abs),
    "relu": Computation(11, 1, _relu),
    "sigmoid": Computation(12, 1, _sigmoid),
    "tanh": Computation(13, 1, _tanh),
    "exp": Computation(14, 1, _exp),
    "log": Computation(15, 1, _log),
    "sqrt": Computation(16, 1, _sqrt),
    "rsqrt": Computation(17, 1, _rsqrt),
    "reciprocal": Computation(18, 1, _reciprocal),
}
"""The operations of a payload, by the operator's name without its overload."""

_BY_CODE = {computation.code: computation for computation in OPERATIONS.values()}


@dataclass(frozen=True)
class Instruction:
    """One step for every element."""

    code: int
    target: int
    first: int = 0
    second: int = 0
    number: float = 0.0


@dataclass(frozen=True)
class Payload:
    """A program and the number of elements it runs over."""

    inputs: int
    outputs: int
    registers: int
    elements: int
    instructions: tuple[Instruction, ...]

    def encode(self) -> bytes:
        """The bytes. Raises BackendError when the program breaks a rule."""
        self.check()
        head = _HEADER.pack(MAGIC, VERSION, self.inputs, self.outputs, self.registers, len(self.instructions), self.elements)
        return head + b"".join(_INSTRUCTION.pack(i.code, i.target, i.first, i.second, i.number) for i in self.instructions)

    def check(self) -> None:
        """Checks every index. Raises BackendError."""
        for what, count in (("inputs", self.inputs), ("outputs", self.outputs), ("registers", self.registers)):
            if not 0 < count <= LIMIT:
                raise BackendError(f"elementwise payload: {count} {what}; there must be 1 to {LIMIT}")
        written: set[int] = set()
        stored: set[int] = set()
        for instruction in self.instructions:
            _check_instruction(self, instruction, written, stored)
        if len(stored) != self.outputs:
            raise BackendError(f"elementwise payload: {self.outputs} outputs, but only {len(stored)} are stored")


def _check_instruction(payload: Payload, instruction: Instruction, written: set[int], stored: set[int]) -> None:
    code, target, first, second = instruction.code, instruction.target, instruction.first, instruction.second
    computation = _BY_CODE.get(code)
    if computation is None and code not in (LOAD, STORE, CONSTANT):
        raise BackendError(f"elementwise payload: there is no operation {code}")
    reads = [first, second][: computation.arity] if computation is not None else [first] if code == STORE else []
    if (unwritten := next((register for register in reads if register not in written), None)) is not None:
        raise BackendError(f"elementwise payload: register {unwritten} is read before it is written")
    if code == LOAD and first >= payload.inputs:
        raise BackendError(f"elementwise payload: input {first} is loaded, but there are {payload.inputs} inputs")
    if code == STORE:
        if target >= payload.outputs:
            raise BackendError(f"elementwise payload: output {target} is stored, but there are {payload.outputs} outputs")
        if target in stored:
            raise BackendError(f"elementwise payload: output {target} is stored twice")
        stored.add(target)
        return
    if target >= payload.registers:
        raise BackendError(f"elementwise payload: register {target} is written, but there are {payload.registers} registers")
    written.add(target)


def decode(data: memoryview | bytes) -> Payload:
    """The program in a payload. Raises BackendError when it is malformed."""
    if len(data) < _HEADER.size:
        raise BackendError(f"elementwise payload: it has {len(data)} bytes; its header alone takes {_HEADER.size}")
    magic, version, inputs, outputs, registers, count, elements = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise BackendError(f"elementwise payload: it starts with {magic!r}, not with {MAGIC!r}")
    if version != VERSION:
        raise BackendError(f"elementwise payload: it is of version {version}; this backend reads {VERSION}")
    if len(data) != (expected := _HEADER.size + count * _INSTRUCTION.size):
        raise BackendError(f"elementwise payload: it has {len(data)} bytes; {count} instructions take {expected}")
    instructions = tuple(Instruction(*fields) for fields in _INSTRUCTION.iter_unpack(data[_HEADER.size :]))
    payload = Payload(inputs, outputs, registers, elements, instructions)
    payload.check()
    return payload


def execute(data: memoryview, inputs: Sequence[Array]) -> Sequence[Array]:
    """Runs a payload with numpy. Raises BackendError for a bad payload or arguments that do not fit it."""
    payload = decode(data)
    if len(inputs) != payload.inputs:
        raise BackendError(f"elementwise payload: it takes {payload.inputs} inputs, got {len(inputs)}")
    if any(array.dtype != np.float32 or array.shape != inputs[0].shape or array.size != payload.elements for array in inputs):
        raise BackendError(f"elementwise payload: inputs are float32 of {payload.elements} elements and one shape")
    registers: dict[int, Any] = {}
    outputs: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for step in payload.instructions:
            if step.code == LOAD:
                registers[step.target] = inputs[step.first]
            elif step.code == STORE:
                # A copy: a register that was loaded is an input, and one that holds a number has no shape.
                outputs[step.target] = np.broadcast_to(registers[step.first], inputs[0].shape).copy()
            elif step.code == CONSTANT:
                registers[step.target] = np.float32(step.number)
            else:
                computation = _BY_CODE[step.code]
                sources = (step.first, step.second)[: computation.arity]
                registers[step.target] = computation.numpy(*(registers[source] for source in sources))
    return [outputs[index] for index in range(payload.outputs)]
