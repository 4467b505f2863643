"""Checks the records of a program: that indices are in range and name values of the right kind, and that tensors fit into their memory."""

from collections.abc import Iterable, Sequence
from typing import NoReturn

from flambeau.runtime.pte.records import (
    DelegateCall,
    ExecutionPlan,
    FreeCall,
    Int,
    IntList,
    JumpFalseCall,
    KernelCall,
    MoveCall,
    Null,
    OptionalTensorList,
    Program,
    PteError,
    Tensor,
    TensorDataLocation,
    TensorList,
)

MAXIMUM_RANK = 16
"""The highest rank that ExecuTorch loads."""

MAXIMUM_BYTES = 2**63 - 1
"""Sizes are signed 64-bit numbers in the format."""


def check_program(program: Program) -> None:
    """Checks every property of a program on which a runtime relies.

    Raises:
        PteError: a property does not hold; the message names the method, and the value or instruction.
    """
    if program.version != 0:
        raise PteError(f"the program has format version {program.version}; version 0 is the only one known")
    _distinct("methods", (plan.name for plan in program.execution_plan))
    _distinct("named data", (item.key for item in program.named_data))
    for plan in program.execution_plan:
        _PlanCheck(program, plan).run()


def _distinct(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise PteError(f"the program has two {what} called {name!r}")
        seen.add(name)


class _PlanCheck:
    def __init__(self, program: Program, plan: ExecutionPlan):
        self.program = program
        self.plan = plan

    def _fail(self, where: str, what: str) -> NoReturn:
        raise PteError(f"method {self.plan.name!r}, {where}: {what}")

    def run(self) -> None:
        """Checks the plan."""
        sizes = self.plan.non_const_buffer_sizes
        if any(not 0 <= size <= MAXIMUM_BYTES for size in sizes):
            self._fail("arenas", f"each size is from 0 to {MAXIMUM_BYTES} bytes, not {list(sizes)}")
        for index, value in enumerate(self.plan.values):
            where = f"value {index}"
            match value:
                case Tensor():
                    self._tensor(where, value)
                case IntList():
                    self._kinds(where, value.items, (Int,), "an int")
                case TensorList():
                    self._kinds(where, value.items, (Tensor,), "a tensor")
                case OptionalTensorList():
                    self._kinds(where, (item for item in value.items if item != -1), (Tensor, Null), "a tensor or None")
                case _:
                    pass
        self._indices("inputs", self.plan.inputs)
        self._indices("outputs", self.plan.outputs)
        for item in self.plan.non_const_buffer_device or ():
            if not 0 <= item.buffer_idx < len(sizes):
                self._fail("arena devices", f"there is no arena {item.buffer_idx}: the method has {len(sizes)}")
        if not self.plan.chains:
            self._fail("chains", "the method has none")
        for chain in self.plan.chains:
            self._indices("chain inputs", chain.inputs)
            self._indices("chain outputs", chain.outputs)
            for position, instruction in enumerate(chain.instructions):
                self._instruction(f"instruction {position}", instruction, len(chain.instructions))

    def _indices(self, where: str, indices: Iterable[int]) -> None:
        count = len(self.plan.values)
        for index in indices:
            if not 0 <= index < count:
                self._fail(where, f"there is no value {index}: the method has {count}")

    def _kinds(self, where: str, items: Iterable[int], kinds: tuple[type, ...], what: str) -> None:
        values = self.plan.values
        for item in items:
            if not 0 <= item < len(values):
                self._fail(where, f"there is no value {item}: the method has {len(values)}")
            if not isinstance(values[item], kinds):
                self._fail(where, f"item {item} is not {what} but a {type(values[item]).__name__}")

    def _tensor(self, where: str, tensor: Tensor) -> None:
        rank = len(tensor.sizes)
        if rank > MAXIMUM_RANK:
            self._fail(where, f"the tensor has rank {rank}, over the limit of {MAXIMUM_RANK}")
        if any(size < 0 for size in tensor.sizes):
            self._fail(where, f"the tensor has a negative size: {list(tensor.sizes)}")
        if sorted(tensor.dim_order) != list(range(rank)):
            self._fail(where, f"the dim order {list(tensor.dim_order)} is not one of {rank} dimensions")
        if tensor.nbytes > MAXIMUM_BYTES:
            self._fail(where, f"a tensor of sizes {list(tensor.sizes)} takes more than {MAXIMUM_BYTES} bytes")
        allocation = tensor.allocation_info
        if allocation is not None:
            sizes = self.plan.non_const_buffer_sizes
            if not 0 < allocation.memory_id < len(sizes):
                self._fail(where, f"there is no arena {allocation.memory_id}: the method has {max(len(sizes) - 1, 0)}, counted from 1")
            end = allocation.memory_offset + tensor.nbytes
            if end > sizes[allocation.memory_id]:
                self._fail(where, f"the tensor ends at byte {end} of arena {allocation.memory_id}, which has {sizes[allocation.memory_id]}")
        extra = tensor.extra_tensor_info
        if extra is not None and extra.location is TensorDataLocation.EXTERNAL:
            if not extra.fully_qualified_name:
                self._fail(where, "the tensor's data lies outside of the program but has no name")
        elif tensor.data_buffer_idx:
            self._data(where, tensor)

    def _data(self, where: str, tensor: Tensor) -> None:
        if tensor.allocation_info is None:
            what, entries = "constant", self.program.constants
        else:
            what, entries = "initial value", self.program.mutable_data[0] if self.program.mutable_data else ()
        index = tensor.data_buffer_idx
        if index >= len(entries):
            self._fail(where, f"there is no {what} {index}: the program has {max(len(entries) - 1, 0)}, counted from 1")
        if len(entries[index]) < tensor.nbytes:
            self._fail(where, f"the tensor takes {tensor.nbytes} bytes, but {what} {index} has {len(entries[index])}")

    def _instruction(self, where: str, instruction: object, count: int) -> None:
        match instruction:
            case KernelCall(operator, args):
                self._entry(where, operator, self.plan.operators, "operator")
                self._indices(where, args)
            case DelegateCall(delegate, args):
                self._entry(where, delegate, self.plan.delegates, "delegate")
                self._indices(where, args)
            case MoveCall(source, target):
                self._indices(where, (source, target))
            case JumpFalseCall(condition, destination):
                self._indices(where, (condition,))
                if not 0 <= destination <= count:
                    self._fail(where, f"it jumps to instruction {destination} of {count}")
            case FreeCall(value):
                self._indices(where, (value,))
            case _:
                self._fail(where, f"a {type(instruction).__name__} is not an instruction")

    def _entry(self, where: str, index: int, entries: Sequence[object], what: str) -> None:
        if not 0 <= index < len(entries):
            self._fail(where, f"there is no {what} {index}: the method has {len(entries)}")
