"""A partition as a program for the register machine: values are loaded at their first use, registers freed after the last."""

from __future__ import annotations

from xdsl.ir import BlockArgument, SSAValue

from flambeau.backends.elementwise.payload import CONSTANT, LOAD, OPERATIONS, STORE, Instruction, Payload
from flambeau.backends.elementwise.taken_operators import absorbs, operation_of, refuse, refuse_type
from flambeau.dialects.delegate.ops import PartitionOp
from flambeau.dialects.ir.tensor_types import numel, tensor_type
from flambeau.dialects.ml_program import GlobalLoadConstantOp
from flambeau.dialects.schema.row import SchemaOp
from flambeau.passes.delegation.interface import BackendError, Encoded
from flambeau.passes.rewriting.constants import ModuleConstants
from flambeau.support.lazy import np


class _Machine:
    """Registers while a program is written."""

    def __init__(self, constants: ModuleConstants):
        self.constants = constants
        self.instructions: list[Instruction] = []
        self.registers: dict[SSAValue, int] = {}
        self.free: list[int] = []
        self.count = 0

    def register(self) -> int:
        """A register that holds nothing of use."""
        if self.free:
            return self.free.pop()
        self.count += 1
        return self.count - 1

    def number(self, value: float) -> int:
        """A register with a number, as a float32; one too large for it is infinite."""
        target = self.register()
        with np.errstate(over="ignore"):
            self.instructions.append(Instruction(CONSTANT, target, number=float(np.float32(value))))
        return target

    def load(self, value: BlockArgument) -> int:
        """The register of an argument."""
        if value not in self.registers:
            self.registers[value] = self.register()
            self.instructions.append(Instruction(LOAD, self.registers[value], value.index))
        return self.registers[value]

    def operand(self, op: SchemaOp, value: SSAValue | float, temporary: list[int]) -> int:
        """The register of an operand; those of numbers are added to `temporary`."""
        if isinstance(value, BlockArgument):
            return self.load(value)
        if isinstance(value, SSAValue):
            if value in self.registers:
                return self.registers[value]
            array = self.constants.array(value) if absorbs(op, value) else None
            if array is None:
                raise BackendError(f"elementwise: {op.name} reads a value that is neither an argument nor a constant number")
            value = float(array.reshape(-1)[0])
        temporary.append(self.number(value))
        return temporary[-1]


def lower(partition: PartitionOp, constants: ModuleConstants) -> Encoded:
    """The payload of a partition. Raises BackendError when it holds what the backend does not take."""
    name = partition.sym_name.data
    kinds = [tensor_type(kind) for kind in (*partition.function_type.outputs.data, *partition.function_type.inputs.data)]
    if not partition.function_type.outputs.data or not partition.function_type.inputs.data or any(kind != kinds[0] for kind in kinds):
        raise BackendError(f"elementwise: partition @{name} needs inputs and outputs, all of one type")
    if (reason := refuse_type(kinds[0])) is not None:
        raise BackendError(f"elementwise: partition @{name}: {reason}")
    machine = _Machine(constants)
    block = partition.body.block
    terminator = block.last_op
    assert terminator is not None
    last = {value: op for op in block.ops for value in op.operands}
    outputs: dict[SSAValue, list[int]] = {}
    for index, value in enumerate(terminator.operands):
        outputs.setdefault(value, []).append(index)
    for op in block.ops:
        if op is terminator or isinstance(op, GlobalLoadConstantOp):
            continue
        operation = operation_of(op) if isinstance(op, SchemaOp) and op.level() == "edge" else None
        reason = refuse(op)
        if not isinstance(op, SchemaOp) or operation is None or reason is not None:
            raise BackendError(f"elementwise: partition @{name} holds {op.name}: {reason or 'it is not an operator of the edge level'}")
        computation = OPERATIONS[operation]
        temporary: list[int] = []
        sources = [machine.operand(op, value, temporary) for value in op.arguments()[: computation.arity]]
        machine.free += temporary
        machine.free += [
            machine.registers.pop(value) for value in dict.fromkeys(op.operands) if last[value] is op and value in machine.registers
        ]
        target = machine.register()
        machine.registers[op.result] = target
        machine.instructions.append(Instruction(computation.code, target, *sources))
        machine.instructions += [Instruction(STORE, index, target) for index in outputs.get(op.result, ())]
    for index, value in enumerate(terminator.operands):
        if isinstance(value, BlockArgument):
            machine.instructions.append(Instruction(STORE, index, machine.load(value)))
    count = numel(kinds[0])
    return Encoded(Payload(len(block.args), len(terminator.operands), machine.count, count, tuple(machine.instructions)).encode())
