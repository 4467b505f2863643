"""Programs that are well formed and made to do harm: each is refused in words, or runs within its memory.

Each has a delegate that no other runtime has (`plan`), so that they refuse it when it is loaded.
"""

from typing import Any

import numpy as np
import pytest
from runtime_programs import LONG, call, plan, stock, tensor, write

from flambeau.runtime import FlambeauError, Runtime, Status, pte
from flambeau.runtime.binding.metadata import Slot
from flambeau.runtime.pte.records import EMPTY

DYNAMIC = pte.TensorShapeDynamism.DYNAMIC_BOUND
CONSTANT = tensor(4, data_buffer_idx=1)
ADD, VIEW, CAT = "aten::add.out", "executorch_prim::et_view.default", "aten::cat.out"


def one_call(operator: str, *args: int, values: list[pte.Value], inputs: list[int], arena: int = 1024) -> pte.ExecutionPlan:
    """A method that calls an operator; its output is the out of the call."""
    return plan(values, [call(0, *args)], [operator], inputs, [args[-1]], arena=arena)


def adding(out: pte.Value, *before: pte.Instruction, returned: int = 4, values: tuple[pte.Value, ...] = ()) -> pte.ExecutionPlan:
    """Adds values 0 and 1 into value 4, `out`, after other instructions; 3 is a constant, and `values` have the numbers from 5."""
    first: list[pte.Value] = [tensor(4, at=0), tensor(4, at=16), pte.Int(1), CONSTANT]
    return plan([*first, out, *values], [*before, call(0, 0, 1, 2, 4, returned)], [ADD, VIEW], [0, 1], [0])


def returning(value: pte.Value) -> pte.ExecutionPlan:
    """Adds into a constant, value 3, and returns value 4."""
    first: list[pte.Value] = [tensor(4, at=0), tensor(4, at=16), pte.Int(1), CONSTANT]
    return plan([*first, value], [call(0, 0, 1, 2, 3, 4)], [ADD], [0, 1], [0])


def multiplying_after_moves(operator: str, *args: int) -> pte.ExecutionPlan:
    """Multiplies matrices, values 0 and 1, that are larger than those for which the scratch memory was measured; value 6 is None."""
    small = [tensor(2, 2, at=at) for at in (0, 16, 32)]
    large = [tensor(64, 64, at=at) for at in (1024, 17408, 33792)]
    moves: list[pte.Instruction] = [pte.MoveCall(number + 3, number) for number in range(3)]
    return plan([*small, *large, pte.Null()], [*moves, call(0, *args)], [operator], [], [2], arena=50176)


def longs(*sizes: int, at: int) -> pte.Tensor:
    """A tensor of int64."""
    return tensor(*sizes, at=at, type=LONG)


def viewed(given: list[int], *calls: pte.Instruction) -> pte.ExecutionPlan:
    """Views value 0, of one element, as value 3, of at most 64; `given` are the inputs."""
    flat = [tensor(64, at=at) for at in (256, 512)]
    values: list[pte.Value] = [tensor(1, at=1008), pte.IntList((2,)), pte.Int(1), tensor(64, at=0, shape_dynamism=DYNAMIC), *flat]
    return plan(values, [call(0, 0, 1, 3), *calls], [VIEW, ADD], given, [3], arena=1024)


def view_on_a_condition(*calls: pte.Instruction, output: int) -> pte.ExecutionPlan:
    """Views value 0, an input, as value 4 if value 1, an input, is true."""
    values: list[pte.Value] = [tensor(4), pte.Bool(True), pte.IntList((3,)), pte.Int(4), tensor(4), tensor(4, at=0), pte.Int(1)]
    return plan(values, [pte.JumpFalseCall(1, 2), call(0, 0, 2, 4), *calls], [VIEW, ADD], [0, 1], [output], arena=64)


STALE_VIEW = view_on_a_condition(call(1, 4, 4, 6, 5, 5), output=5)
REFUSED: dict[str, tuple[pte.ExecutionPlan, str]] = {
    "a constant is written, and a value that is no tensor is returned": (
        returning(pte.Null()),
        "instruction 0: its argument 4, value 4, must be a tensor to write",
    ),
    "a constant is written, and an empty list is returned": (
        returning(pte.TensorList()),
        "instruction 0: its outs are not the values that it returns",
    ),
    "a moved constant is written": (
        adding(tensor(4, at=32), pte.MoveCall(3, 4)),
        "instruction 1, aten::add.out: argument 3, value 4, is written, and is a constant",
    ),
    "a view of a constant is written": (
        adding(tensor(4), call(1, 3, 5, 4), values=(pte.IntList((6,)), pte.Int(4))),
        "instruction 1, aten::add.out: argument 3, value 4, is written, and is a constant",
    ),
    "a delegate writes a constant": (
        plan([tensor(1, at=0), tensor(1, data_buffer_idx=1)], [pte.DelegateCall(0, (0, 1))], [], [0], [1]),
        "instruction 0, FlambeauElementwise: argument 1, value 1, is written, and is a constant",
    ),
    "a number for a tensor": (
        one_call("aten::gelu.out", 0, 1, 2, 2, values=[pte.Int(6), pte.String("none"), tensor(1, at=0)], inputs=[]),
        "instruction 0: its argument 0, value 0, must be a tensor",
    ),
    "a tensor for a number": (
        one_call("aten::unsqueeze_copy.out", 0, 0, 1, 1, values=[tensor(3, at=0), tensor(1, 3, at=64)], inputs=[0]),
        "instruction 0: its argument 1, value 0, must be a number",
    ),
    "a view of nothing": (
        one_call(VIEW, 0, 1, 3, values=[pte.Null(), pte.IntList((2,)), pte.Int(4), tensor(4)], inputs=[]),
        "instruction 0: its argument 0, value 0, must be a tensor",
    ),
    "mm needs more scratch memory after a move": (
        multiplying_after_moves("aten::mm.out", 0, 1, 2, 2),
        "aten::mm.out: its arguments need 16384 bytes of scratch memory, at load there were to be",
    ),
    "linear needs more scratch memory after a move": (
        multiplying_after_moves("aten::linear.out", 0, 1, 6, 2, 2),
        "aten::linear.out: its arguments need 16384 bytes of scratch memory, at load there were to be",
    ),
    "index_put writes over its indices": (
        one_call(
            *("aten::index_put.out", 0, 2, 3, 4, 5, 5),
            values=[longs(4, at=0), longs(4, at=64), pte.OptionalTensorList((1,)), longs(4, at=128), pte.Bool(False), longs(4, at=64)],
            inputs=[0, 1, 3],
        ),
        "aten::index_put.out: its out, value 5, overlaps its argument 1",
    ),
    "scatter writes over its indices": (
        one_call(
            *("aten::scatter.src_out", 0, 1, 2, 3, 4, 4),
            values=[longs(4, at=0), pte.Int(0), longs(4, at=64), longs(4, at=128), longs(4, at=64)],
            inputs=[0, 2, 3],
        ),
        "aten::scatter.src_out: its out, value 4, overlaps its argument 2",
    ),
    "embedding writes over its indices": (
        one_call(
            *("aten::embedding.out", 0, 1, 2, 3, 3, 4, 4),
            values=[longs(4, 4, at=0), longs(4, at=512), pte.Int(-1), pte.Bool(False), longs(4, 4, at=512)],
            inputs=[0, 1],
        ),
        "aten::embedding.out: its out, value 4, overlaps its argument 1",
    ),
    "index writes over its indices": (
        one_call(
            *("aten::index.Tensor_out", 0, 2, 3, 3),
            values=[longs(4, 4, at=0), longs(4, at=512), pte.OptionalTensorList((1,)), longs(4, 4, at=512)],
            inputs=[0, 1],
        ),
        "aten::index.Tensor_out: its out, value 3, overlaps its argument 1",
    ),
    "index_select writes over its indices": (
        one_call(
            *("aten::index_select.out", 0, 1, 2, 3, 3),
            values=[longs(4, 4, at=0), pte.Int(0), longs(4, at=512), longs(4, 4, at=512)],
            inputs=[0, 2],
        ),
        "aten::index_select.out: its out, value 3, overlaps its argument 2",
    ),
    "cat writes over its operand": (
        one_call(
            *(CAT, 2, 3, 0, 0),
            values=[tensor(4, at=16, shape_dynamism=DYNAMIC), tensor(2, at=0, shape_dynamism=DYNAMIC), pte.TensorList((0, 1)), pte.Int(0)],
            inputs=[0, 1],
        ),
        "aten::cat.out: its out, value 0, overlaps its argument 0",
    ),
    "cat gives its own operand, which has no elements, new sizes": (
        one_call(CAT, 1, 2, 0, 0, values=[tensor(0, 7, at=16, shape_dynamism=DYNAMIC), pte.TensorList((0, 0)), pte.Int(1)], inputs=[0]),
        "aten::cat.out: its out, value 0, overlaps its argument 0",
    ),
    "more is written than a view has": (
        viewed([0, 4, 5], call(1, 4, 5, 2, 3, 3)),
        "aten::add.out: the result takes 256 bytes, where the program gives it 4",
    ),
    "an input in the caller's memory is written": (
        one_call(
            *(ADD, 1, 2, 3, 0, 0),
            values=[tensor(64, shape_dynamism=DYNAMIC), tensor(64, at=0), tensor(64, at=256), pte.Int(1)],
            inputs=[0, 1, 2],
        ),
        "aten::add.out: argument 3, value 0, is written, and is a constant or an input in the caller's memory",
    ),
    "a view of the run before is read": (STALE_VIEW, "aten::add.out: argument 0, value 4, has no memory"),
    "a view of the run before is an output": (view_on_a_condition(output=4), "output 0: no instruction that ran gave it memory"),
    "an input becomes a view": (viewed([0, 3]), "argument 2, value 3, is an input or a constant, and cannot become a view"),
    "a moved value becomes a view": (
        plan(
            [tensor(4, at=0), pte.IntList((2,)), pte.Int(4), tensor(4), tensor(4, at=16)],
            [pte.MoveCall(4, 3), call(0, 0, 1, 3)],
            *([VIEW], [0], [0]),
        ),
        "argument 2, value 3, was moved there, and cannot become a view",
    ),
    "an output that nothing writes": (plan([tensor(1000)], [], [], [], [0]), "output 0, value 0, is written by no instruction"),
}
"""What each program is told."""


def loaded(method: pte.ExecutionPlan) -> Any:
    """A program with one method, and a constant of four numbers."""
    return Runtime.get().load_program(write(method, constants=(EMPTY, memoryview(bytes(16)))))


def outcome(method: pte.ExecutionPlan) -> str:
    """What a program is told when it is loaded and run twice, with false bools the second time."""
    try:
        program = loaded(method)
        ready = program.load_method()
        for truth in (True, False):
            ready.execute([example(info, truth) for info in program.metadata().inputs])
    except FlambeauError as error:
        assert error.status in (Status.INVALID_PROGRAM, Status.INVALID_STATE, Status.NOT_SUPPORTED)
        return str(error)
    return "it runs"


def example(info: Slot, truth: bool) -> Any:
    """Small numbers for a tensor, `truth` for a bool."""
    if info.tensor is None:
        return truth
    count = int(np.prod(info.tensor.shape))
    return (np.arange(count) % 3).reshape(info.tensor.shape).astype(info.tensor.type)


@pytest.mark.parametrize("name", REFUSED)
def test_a_crafted_program_is_told_why(name: str):
    method, expected = REFUSED[name]
    message = outcome(method)
    assert expected in message and "\n" not in message, message


def test_a_divisor_that_is_broadcast_is_not_written_over():
    """Its zeros are looked for before the result, which lies on it, is written; it would be read again for the second row."""
    left = tensor(2, 3, at=0, type=pte.ScalarType.CHAR, shape_dynamism=DYNAMIC)
    right = tensor(2, 3, at=16, type=pte.ScalarType.INT, shape_dynamism=DYNAMIC)
    method = loaded(one_call("aten::fmod.Tensor_out", 0, 1, 2, 2, values=[left, right, right], inputs=[0, 1])).load_method()
    ones = np.ones((2, 3))
    for rows in (2, 1):
        assert not method.execute([ones[:rows].astype("int8"), ones.astype("int32")])[0].any()
    with pytest.raises(FlambeauError, match="the result has a size of 2, where the operand in whose memory it lies has 1"):
        method.execute([ones.astype("int8"), ones[:1].astype("int32")])


def test_a_window_far_larger_than_the_image_visits_the_image_only():
    image, result, places = tensor(1, 1, 4, 6, at=0), tensor(1, 1, 2, 1, at=128), tensor(1, 1, 2, 1, at=192, type=LONG)
    numbers: list[pte.Value] = [pte.Int(2), pte.Int(2**31 - 1), pte.Int(0), pte.Int(1)]
    lists: list[pte.Value] = [pte.IntList((3, 4)), pte.IntList(), pte.IntList((5, 5)), pte.IntList((6, 6))]
    values: list[pte.Value] = [image, result, places, *numbers, *lists, pte.Bool(True), pte.TensorList((1, 2))]
    operator = "aten::max_pool2d_with_indices.out"
    method = loaded(plan(values, [call(0, 0, 7, 8, 9, 10, 11, 1, 2, 12)], [operator], [0], [1, 2])).load_method()
    x = np.arange(24, dtype=np.float32).reshape(1, 1, 4, 6)
    largest, where = method.execute([x])
    assert (largest.ravel() == [11, 23]).all() and (where.ravel() == [11, 23]).all()


def test_a_plan_that_loses_a_value_is_refused():
    """Stock ExecuTorch places the second torch.cond over the result of the first."""
    with pytest.raises(FlambeauError, match=r"aten::add.out: argument 0, value \d+, has lost its memory to value \d+ before it is read"):
        Runtime.get().load_program(stock("siblings")).load_method()


@pytest.mark.parametrize("name", ["cond", "map", "state", "lists"])
def test_sound_plans_are_not_refused(name: str):
    Runtime.get().load_program(stock(name)).load_method()


def test_a_plan_that_loses_an_output_is_refused():
    values: list[pte.Value] = [tensor(4, at=0), pte.Int(1), tensor(4, at=16), tensor(4, at=16)]
    program = write(plan(values, [call(0, 0, 0, 1, 2, 2), call(0, 0, 0, 1, 3, 3)], ["aten::add.out"], [0], [2, 3]))
    with pytest.raises(FlambeauError, match="output 0, value 2, has lost its memory to value 3 before the end"):
        Runtime.get().load_program(program).load_method()


def test_a_plan_that_loses_what_lasts_is_refused():
    """The second run would read what the first one left of another value."""
    values: list[pte.Value] = [tensor(4, at=0), pte.Int(1), tensor(4, at=16), tensor(4, at=32), tensor(4, at=16), pte.Bool(False)]
    calls: list[pte.Instruction] = [call(0, 2, 0, 1, 3, 3), call(1, 2, 3, 5, 2), call(0, 0, 0, 1, 4, 4)]
    program = write(plan(values, calls, ["aten::add.out", "aten::copy_"], [0], [3]))
    with pytest.raises(FlambeauError, match="argument 0, value 2, has lost its memory to value 4 before it is read"):
        Runtime.get().load_program(program).load_method()


def test_scratch_memory_beyond_32_bits_is_asked_for():
    entries = 134217732
    byte = pte.ScalarType.BYTE
    results: list[pte.Value] = [tensor(1, at=134217744, type=byte), longs(1, at=134217760), pte.TensorList((4, 5))]
    values: list[pte.Value] = [tensor(entries, at=0, type=byte), pte.Int(1), pte.Int(0), pte.Bool(True), *results]
    method = plan(values, [call(0, 0, 1, 2, 3, 3, 4, 5, 6)], ["aten::topk.values"], [], [4], arena=134217796)
    beside_the_entries = loaded(method).metadata().memory.scratch - 32 * entries
    assert 0 < beside_the_entries < 10_000


def test_a_view_lasts_until_the_next_run():
    method = loaded(STALE_VIEW).load_method()
    x = np.arange(4, dtype=np.float32)
    for _ in range(2):
        np.testing.assert_array_equal(method.execute([x, True])[0], 2 * x)
    with pytest.raises(FlambeauError, match="argument 0, value 4, has no memory"):
        method.execute([x, False])


def test_names_as_long_as_the_file_are_cut():
    calls: list[pte.Instruction] = [call(index, 0, 1, 2, 3, 3) for index in range(1000)]
    values: list[pte.Value] = [tensor(4, at=0), tensor(4, at=16), pte.Int(1), tensor(4, at=32)]
    program = write(plan(values, calls, ["aten::add." + "x" * 100_000] * 1000, [], [3]))
    with pytest.raises(FlambeauError, match=r"this runtime does not have: aten::add\.x+\.\.\.$"):
        Runtime.get().load_program(program).load_method()
