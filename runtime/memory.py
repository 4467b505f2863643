"""Computes from a program the memory that the C runtime needs for a method.

The formula is that of `fl_counts` in `c/core/internal.h`; a test compares both.
"""

from dataclasses import dataclass
from typing import Literal

from flambeau.runtime.pte.records import (
    DelegateCall,
    ExecutionPlan,
    IntList,
    KernelCall,
    OptionalTensorList,
    Tensor,
    TensorList,
    TensorShapeDynamism,
)

PointerSize = Literal[4, 8]
"""Bytes of a pointer on the device."""


@dataclass(frozen=True, slots=True)
class MethodCounts:
    """The counts from which the memory of a method is computed.

    Attributes:
        ports: number of inputs and outputs.
        pointers: number of items in lists of values, and of arguments of calls.
        dims: number of strides of all tensors, and of sizes of dynamic tensors.
    """

    values: int
    tensors: int
    instructions: int
    delegates: int
    ports: int
    arenas: int
    pointers: int
    dims: int

    def nbytes(self, pointer_size: PointerSize = 8) -> int:
        """Returns the bytes of the method's memory, without its delegates' memory, on a machine with pointers of `pointer_size` bytes."""
        wide = pointer_size == 8
        total = (
            self.values * (24 if wide else 16)
            + self.tensors * (56 if wide else 28)
            + self.instructions * (24 if wide else 16)
            + self.delegates * 3 * pointer_size
            + self.ports * (24 if wide else 12)
            + (self.arenas + self.pointers) * pointer_size
            + self.dims * 4
        )
        return (total + 15) // 16 * 16


def count_method(plan: ExecutionPlan) -> MethodCounts:
    """Returns the counts of a method's parts."""
    tensors = [value for value in plan.values if isinstance(value, Tensor)]
    lists = [value for value in plan.values if isinstance(value, IntList | TensorList | OptionalTensorList)]
    instructions = [instruction for chain in plan.chains for instruction in chain.instructions]
    calls = [instruction for instruction in instructions if isinstance(instruction, KernelCall | DelegateCall)]
    return MethodCounts(
        values=len(plan.values),
        tensors=len(tensors),
        instructions=len(instructions),
        delegates=len(plan.delegates),
        ports=len(plan.inputs) + len(plan.outputs),
        arenas=max(len(plan.non_const_buffer_sizes) - 1, 0),
        pointers=sum(len(value.items) for value in lists) + sum(len(call.args) for call in calls),
        dims=sum(len(tensor.sizes) * (2 if _is_dynamic(tensor) else 1) for tensor in tensors),
    )


def _is_dynamic(tensor: Tensor) -> bool:
    is_constant = tensor.data_buffer_idx != 0 and tensor.allocation_info is None
    return tensor.shape_dynamism is not TensorShapeDynamism.STATIC and not is_constant


def method_memory(plan: ExecutionPlan, pointer_size: PointerSize = 8) -> int:
    """Returns the bytes of `fl_requirements.method` for a method without delegates.

    A method also needs its arenas (`plan.non_const_buffer_sizes`) and the scratch memory of its kernels (`Program.metadata().memory`), and
    nothing else. Delegates add the memory that their backends ask for.
    """
    return count_method(plan).nbytes(pointer_size)
