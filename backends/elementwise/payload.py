"""Reads and writes payloads: programs for a register machine, which run once per element. `runtime/elementwise.c` reads them too.

All numbers are little-endian. The header has 28 bytes: the magic "FLEW", the version (uint32), the numbers of inputs, outputs, registers,
instructions and dimensions (uint32 each). Then follows the size of each dimension (uint64), the same for every tensor. Then follow 8 bytes
per instruction: the operation, a target, two sources (uint8 each), and a number (float32) that only `constant` uses. Fields that an
operation does not use are 0.

`load` reads the input `first` into the register `target`, `store` writes the register `first` to the output `target`; all other operations
compute registers from registers. A register is written before it is read, and each output is stored exactly once.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from flambeau.passes.delegation.interface import BackendError

MAGIC = b"FLEW"
VERSION = 2
LIMIT = 255
"""The greatest number of inputs, of outputs, and of registers."""
MOST_DIMENSIONS = 16

_HEADER = struct.Struct("<4sIIIIII")
_SIZE = struct.Struct("<Q")
_INSTRUCTION = struct.Struct("<BBBBf")

LOAD, STORE, CONSTANT = 0, 1, 2
"""The codes of the operations that move data; the codes of the computations follow."""
_BINARY = ("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "maximum", "minimum")
_UNARY = ("neg", "abs", "relu", "sigmoid", "tanh", "exp", "log", "sqrt", "rsqrt", "reciprocal")
COMPUTATIONS = {name: code for code, name in enumerate((*_BINARY, *_UNARY), CONSTANT + 1)}
"""The codes of the computations, by the name of the operator at the edge level."""
NAMES = {code: name for name, code in COMPUTATIONS.items()}


def arity(code: int) -> int:
    """Returns the number of registers that a computation (an operation of COMPUTATIONS) reads."""
    return 2 if NAMES[code] in _BINARY else 1


@dataclass(frozen=True)
class Instruction:
    """One instruction of the program, which runs for every element."""

    code: int
    target: int
    first: int = 0
    second: int = 0
    number: float = 0.0

    @property
    def reads(self) -> tuple[int, ...]:
        """The registers that the instruction reads."""
        return (self.first, self.second)[: arity(self.code)] if self.code in NAMES else (self.first,) if self.code == STORE else ()


@dataclass(frozen=True)
class Payload:
    """A program, and the sizes of its tensors."""

    inputs: int
    outputs: int
    registers: int
    sizes: tuple[int, ...]
    instructions: tuple[Instruction, ...]

    def encode(self) -> bytes:
        """Returns the bytes of the payload. Raises BackendError for a malformed program."""
        self.check()
        head = _HEADER.pack(MAGIC, VERSION, self.inputs, self.outputs, self.registers, len(self.instructions), len(self.sizes))
        steps = (_INSTRUCTION.pack(i.code, i.target, i.first, i.second, i.number) for i in self.instructions)
        return b"".join((head, *map(_SIZE.pack, self.sizes), *steps))

    def check(self) -> None:
        """Raises BackendError unless all indices exist, registers are written before they are read, and each output is stored once."""
        for what, count in (("inputs", self.inputs), ("outputs", self.outputs), ("registers", self.registers)):
            if not 0 < count <= LIMIT:
                raise _refused(f"{count} {what}; there must be 1 to {LIMIT}")
        written: set[int] = set()
        stored: set[int] = set()
        for instruction in self.instructions:
            self._check(instruction, written, stored)
        if len(stored) != self.outputs:
            raise _refused(f"{self.outputs} outputs, but only {len(stored)} are stored")

    def _check(self, step: Instruction, written: set[int], stored: set[int]) -> None:
        if step.code not in NAMES and step.code not in (LOAD, STORE, CONSTANT):
            raise _refused(f"there is no operation {step.code}")
        if (unwritten := next((register for register in step.reads if register not in written), None)) is not None:
            raise _refused(f"register {unwritten} is read before it is written")
        if step.code == LOAD and step.first >= self.inputs:
            raise _refused(f"input {step.first} is loaded, but there are {self.inputs} inputs")
        if step.code == STORE and (step.target >= self.outputs or step.target in stored):
            raise _refused(f"output {step.target} is stored twice, or is none of {self.outputs} outputs")
        if step.code != STORE and step.target >= self.registers:
            raise _refused(f"register {step.target} is written, but there are {self.registers} registers")
        (stored if step.code == STORE else written).add(step.target)


def read_payload(data: memoryview | bytes) -> Payload:
    """Returns the program of a payload. Raises BackendError for malformed bytes."""
    if len(data) < _HEADER.size:
        raise _refused(f"it has {len(data)} bytes; its header alone takes {_HEADER.size}")
    magic, version, inputs, outputs, registers, count, rank = _HEADER.unpack_from(data)
    if magic != MAGIC:
        raise _refused(f"it starts with {magic!r}, not with {MAGIC!r}")
    if version != VERSION:
        raise _refused(f"it is of version {version}; this backend reads {VERSION}")
    if rank > MOST_DIMENSIONS:
        raise _refused(f"it has {rank} dimensions; there are up to {MOST_DIMENSIONS}")
    body = _HEADER.size + rank * _SIZE.size
    if len(data) != (expected := body + count * _INSTRUCTION.size):
        raise _refused(f"it has {len(data)} bytes; {rank} sizes and {count} instructions take {expected}")
    sizes = tuple(size for (size,) in _SIZE.iter_unpack(data[_HEADER.size : body]))
    payload = Payload(inputs, outputs, registers, sizes, tuple(Instruction(*fields) for fields in _INSTRUCTION.iter_unpack(data[body:])))
    payload.check()
    return payload


def _refused(what: str) -> BackendError:
    return BackendError(f"elementwise payload: {what}")
