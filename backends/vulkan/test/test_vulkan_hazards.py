"""Dispatches wait where they must, and nowhere else."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue
from xdsl.utils.test_value import create_ssa_value

from flambeau.backends.vulkan.dialect.elementwise import ARITHMETIC, UNARY
from flambeau.backends.vulkan.dialect.kernels import KernelOp
from flambeau.backends.vulkan.dialect.movement import ConcatKernelOp, PadKernelOp
from flambeau.backends.vulkan.hazards import waits
from flambeau.dialects.ir.tensor_types import tensor

BYTES = 256
KIND = tensor(f32, (BYTES // 4,))
ADD, RELU = ARITHMETIC["add"], UNARY["relu"]


def found(operators: list[KernelOp], places: dict[SSAValue, int] | None = None) -> list[bool]:
    """Whether each dispatch waits, with tensors at places of their own, or those given."""
    values = dict.fromkeys(value for op in operators for value in (*op.operands, op.result))
    offsets = {value: place * BYTES * 16 for place, value in enumerate(values)} | (places or {})
    return waits([(op, dispatch) for op in operators for dispatch in op.dispatches()], offsets.__getitem__)


def test_a_reader_waits_and_neighbours_do_not():
    x, y = create_ssa_value(KIND), create_ssa_value(KIND)
    first, second = RELU(x), RELU(y)
    assert found([first, second, both := ADD(first.result, second.result)]) == [False, False, True]
    # What was waited for once is over.
    assert found([first, second, both, RELU(first.result)]) == [False, False, True, False]


def test_memory_that_is_used_again_is_waited_for():
    x, y = create_ssa_value(KIND), create_ssa_value(KIND)
    first, second = RELU(x), RELU(y)
    assert found([first, second], {x: 0, second.result: 0}) == [False, True]
    assert found([first, second], {x: 4, second.result: BYTES}) == [False, True]
    assert found([first, second], {x: 0, second.result: BYTES}) == [False, False]
    assert found([first, second], {first.result: 0, second.result: 0}) == [False, True]


def test_parts_of_a_result_do_not_wait_for_each_other_unless_they_overlap():
    x, y = create_ssa_value(KIND), create_ssa_value(KIND)
    assert found([ConcatKernelOp([x, y], axis=0)]) == [False, False]
    assert found([PadKernelOp(x, before=(1,), behind=(2,), value=0.0)]) == [False, True]
