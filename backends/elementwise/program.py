"""Compiles a partition to a program of the register machine, and back. Loads values at their first use, frees registers after the last."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import BlockArgument, SSAValue

from flambeau.backends.elementwise.legality import table
from flambeau.backends.elementwise.payload import (
    COMPUTATIONS,
    CONSTANT,
    LOAD,
    NAMES,
    STORE,
    Instruction,
    Payload,
    arity,
    read_payload,
)
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.tensor_types import shape_of, tensor
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendError, BackendOptions, Encoded, partition_module
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.passes.rewriting.lookup import op
from flambeau.support.lazy import np


class _Machine:
    """Allocates the registers of a program, and collects its instructions."""

    def __init__(self, constants: ModuleConstants):
        self.constants = constants
        self.instructions: list[Instruction] = []
        self.registers: dict[SSAValue, int] = {}
        self.free: list[int] = []
        self.count = 0

    def register(self) -> int:
        """Allocates a register, preferably a freed register, and returns its number."""
        if self.free:
            return self.free.pop()
        self.count += 1
        return self.count - 1

    def number(self, value: float) -> int:
        """Writes a number, rounded to float32, to a register, and returns the register. A number that is too large becomes infinite."""
        target = self.register()
        with np.errstate(over="ignore"):
            self.instructions.append(Instruction(CONSTANT, target, number=float(np.float32(value))))
        return target

    def read(self, value: SSAValue) -> int:
        """Returns the register of an argument or a result, and loads an argument at its first use."""
        if value not in self.registers and isinstance(value, BlockArgument):
            self.registers[value] = self.register()
            self.instructions.append(Instruction(LOAD, self.registers[value], value.index))
        return self.registers[value]

    def operand(self, value: SSAValue | float, temporary: list[int]) -> int:
        """Returns the register of an operand. Adds the register of a number to `temporary`, to be freed after the instruction."""
        if isinstance(value, SSAValue):
            if not isinstance(value.owner, GlobalLoadConstantOp):
                return self.read(value)
            value = float(self.constants.elements(value).reshape(-1)[0])
        temporary.append(self.number(value))
        return temporary[-1]


def encode(partition: PartitionOp, constants: ModuleConstants, options: BackendOptions) -> Encoded:
    """Returns the payload of a partition. Raises BackendError for operators that the backend does not take."""
    name, block, kind = partition.sym_name.data, partition.body.block, partition.function_type
    terminator = block.last_op
    assert terminator is not None
    types = {*kind.inputs.data, *kind.outputs.data}
    if not kind.inputs.data or not kind.outputs.data or len(types) > 1:
        raise BackendError(f"elementwise: partition @{name} needs inputs and outputs, all of one type")
    machine = _Machine(constants)
    last = {value: item for item in block.ops for value in item.operands}
    for item in block.ops:
        if item is terminator or isinstance(item, GlobalLoadConstantOp):
            continue
        if (reason := table(options).why_not(item)) is not None or not isinstance(item, SchemaOp):
            raise BackendError(f"elementwise: partition @{name} holds {item.name}: {reason}")
        code = COMPUTATIONS[item.schema.name.replace(".Scalar", ".Tensor")]
        temporary: list[int] = []
        sources = [machine.operand(value, temporary) for value in item.arguments()[: arity(code)]]
        machine.free += temporary
        dying = [value for value in dict.fromkeys(item.operands) if last[value] is item and value in machine.registers]
        machine.free += map(machine.registers.pop, dying)
        target = machine.registers[item.result] = machine.register()
        machine.instructions.append(Instruction(code, target, *sources))
    machine.instructions += [Instruction(STORE, index, machine.read(value)) for index, value in enumerate(terminator.operands)]
    shape = shape_of(kind.inputs.data[0])
    return Encoded(Payload(len(block.args), len(terminator.operands), machine.count, shape, tuple(machine.instructions)).encode())


def decode(data: memoryview, named_data: Mapping[str, memoryview], blobs: BlobStore) -> ModuleOp:
    """Returns a module with the partition of a payload, in `edge` operators. Raises BackendError for a malformed payload."""
    payload = read_payload(data)
    kind = tensor(f32, payload.sizes)

    def build(*inputs: SSAValue) -> list[SSAValue]:
        registers: dict[int, SSAValue] = {}
        outputs: dict[int, SSAValue] = {}
        for step in payload.instructions:
            if step.code == STORE:
                outputs[step.target] = registers[step.first]
            elif step.code == LOAD:
                registers[step.target] = inputs[step.first]
            elif step.code == CONSTANT:
                registers[step.target] = op("edge.full")(payload.sizes, step.number, result_types=[kind]).result
            else:
                registers[step.target] = op(f"edge.{NAMES[step.code]}")(*(registers[source] for source in step.reads)).result
        return [outputs[index] for index in range(payload.outputs)]

    return partition_module("FlambeauElementwise", [kind] * payload.inputs, build)
