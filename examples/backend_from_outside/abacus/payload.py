"""The payload, which abacus.c reads too. All numbers are little-endian, of 32 bits each.

the magic "ABAC", the version; the numbers of inputs, of constants, of steps and of outputs
for each value, in the order inputs, constants, results of steps: the rank and four sizes, padded with leading ones
for each step: the code, and the numbers of two values that the step reads (the second is 0 if it reads one)
for each output: the number of the value
for each constant: the power of two, and the integers of the block
"""

import math
import struct
from collections.abc import Mapping, Sequence

import numpy as np
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ml_program import GlobalLoadConstantOp, GlobalOp
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded, partition_module
from flambeau.passes.kit import ModuleConstants, ModuleOp, SchemaOp, SSAValue, op, shape_of, tensor
from xdsl.dialects.builtin import f32

from .blocks import BITS, LEAST, MOST, Whole, block, numbers

MAGIC, VERSION = b"ABAC", 1
MOST_DIMENSIONS = 4
MOST_NUMBERS = 1 << 24
"""The most numbers of one tensor."""
STEPS = ("negate", "absolute", "relu", "add", "subtract", "maximum", "minimum", "multiply", "multiply_matrices")
"""The operators of the dialect; the place of each is its code."""
UNARY = STEPS[:3]

HEADER = struct.Struct("<4s5I")
VALUE, STEP, OUTPUT = struct.Struct("<5I"), struct.Struct("<3I"), struct.Struct("<I")


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Returns the payload of a converted partition. Raises BackendError for constants that the device cannot represent."""
    body = partition.body.block
    loads = [item for item in body.ops if isinstance(item, GlobalLoadConstantOp)]
    steps = [item for item in body.ops if isinstance(item, SchemaOp)]
    values = [*body.args, *(item.result for item in loads), *(item.result for item in steps)]
    ids: dict[SSAValue, int] = {value: place for place, value in enumerate(values)}
    assert body.last_op is not None
    outputs = [ids[value] for value in body.last_op.operands]
    parts = [HEADER.pack(MAGIC, VERSION, len(body.args), len(loads), len(steps), len(outputs))]
    parts += [VALUE.pack(len(sizes), *(1,) * (MOST_DIMENSIONS - len(sizes)), *sizes) for sizes in map(shape_of, values)]
    for step in steps:
        read = [ids[value] for value in step.operands]
        parts.append(STEP.pack(STEPS.index(step.schema.name), *read, *(0,) * (2 - len(read))))
    parts += [OUTPUT.pack(output) for output in outputs]
    return Encoded(b"".join([*parts, *(_constant(constants, load.result) for load in loads)]))


def _constant(constants: ModuleConstants, value: SSAValue) -> bytes:
    array = constants.array(value)
    try:
        whole, power = block(np.asarray(array, np.float32))
    except ValueError as error:
        name, instead = constants.name(value), "--no-delegate keeps what reads it on the CPU"
        raise BackendError(f"abacus: the constant {name!r} does not fit: {error}; {instead}") from error
    return struct.pack("<i", power) + whole.astype("<i4").tobytes()


class _Reader:
    """A reader of the records of a payload, in order."""

    def __init__(self, data: memoryview):
        self.data, self.place = data, 0

    def bytes(self, size: int) -> memoryview:
        """Returns the next `size` bytes. Raises BackendError if the payload is too short."""
        if size > len(self.data) - self.place:
            raise _refused(f"it ends before {self.place + size} bytes")
        self.place += size
        return self.data[self.place - size : self.place]


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns the operators of the dialect that a payload computes. Raises BackendError for a bad payload."""
    reader = _Reader(data)
    magic, version, inputs, count, steps, outputs = HEADER.unpack(reader.bytes(HEADER.size))
    if magic != MAGIC:
        raise _refused("it does not start with its magic")
    if version != VERSION:
        raise _refused(f"it is of version {version}; this backend reads {VERSION}")
    types = [tensor(f32, _sizes(*record)) for record in VALUE.iter_unpack(reader.bytes(VALUE.size * (inputs + count + steps)))]
    program: list[tuple[int, ...]] = list(STEP.iter_unpack(reader.bytes(STEP.size * steps)))
    results: list[int] = [output for (output,) in OUTPUT.iter_unpack(reader.bytes(OUTPUT.size * outputs))]
    constants = [
        GlobalOp(f"constant_{index}", kind, blobs.add(f"constant_{index}", _numbers(reader, kind.get_shape())))
        for index, kind in enumerate(types[inputs : inputs + count])
    ]
    if reader.place != len(data):
        raise _refused(f"{len(data) - reader.place} bytes follow its end")

    def build(*arguments: SSAValue) -> Sequence[SSAValue]:
        values: list[SSAValue] = [*arguments, *(GlobalLoadConstantOp(item.sym_name.data, item.type).result for item in constants)]
        for code, *read in program:
            if code >= len(STEPS):
                raise _refused(f"there is no step with the code {code}")
            if STEPS[code] in UNARY and read.pop():
                raise _refused("a step that reads one value names a second one")
            if max(read) >= len(values):
                raise _refused(f"a step reads value {max(read)} before it is computed")
            values.append(op(f"abacus.{STEPS[code]}")(*(values[place] for place in read)).result)
            if values[-1].type != types[len(values) - 1]:
                raise _refused(f"a step gives {values[-1].type}, and its payload says {types[len(values) - 1]}")
        if max(results, default=0) >= len(values):
            raise _refused(f"there is no value {max(results)} to give back")
        return [values[place] for place in results]

    return partition_module("AbacusBackend", types[:inputs], build, constants)


def _sizes(rank: int, *padded: int) -> tuple[int, ...]:
    own = MOST_DIMENSIONS - rank
    if own < 0 or any(size != 1 for size in padded[:own]):
        raise _refused(f"a tensor of {rank} dimensions has the sizes {list(padded)}")
    if math.prod(padded) > MOST_NUMBERS or max(padded) > MOST_NUMBERS:
        raise _refused(f"a tensor has the sizes {list(padded)}, and the memory of the device holds {MOST_NUMBERS} numbers of each")
    return padded[own:]


def _numbers(reader: _Reader, sizes: Sequence[int]) -> bytes:
    (power,) = struct.unpack("<i", reader.bytes(4))
    whole: Whole = np.frombuffer(reader.bytes(4 * math.prod(sizes)), "<i4").astype(np.int64)
    bits = int(np.abs(whole).max(initial=0)).bit_length()
    if not LEAST <= power <= MOST or bits > BITS or (power > LEAST and bits < BITS):
        raise _refused(f"a constant is no block of {BITS} bits, of the least power from {LEAST} to {MOST}")
    return numbers(whole, power).astype("<f4").tobytes()


def _refused(what: str) -> BackendError:
    return BackendError(f"abacus payload: {what}")
