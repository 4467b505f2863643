"""Programs that are well formed and made to do harm: each is refused in words, or runs within its memory.

`runtime/c/test/programs/crafted` holds them; the C fuzz test runs them too, where the sanitizers watch.
"""

from typing import Any

import numpy as np
import pytest
from runtime_programs import PROGRAMS, call, plan, stock, tensor, write

from flambeau.runtime import FlambeauError, Runtime, Status, pte
from flambeau.runtime.binding.metadata import Slot

CRAFTED = PROGRAMS / "crafted"
REFUSED = {
    "const_write_nontensor_return": "instruction 0: its argument 4, value 4, must be a tensor to write",
    "condition_of_a_number": "instruction 11: its argument 0, value 5, must be a tensor",
    "const_write_empty_list": "instruction 0: its outs are not the values that it returns",
    "const_write_move": "instruction 1, aten::add.out: argument 3, value 4, is written, and is a constant",
    "const_write_et_view": "instruction 1, aten::add.out: argument 3, value 4, is written, and is a constant",
    "const_write_delegate": "instruction 0, FlambeauElementwise: argument 1, value 1, is written, and is a constant",
    "mm_scratch_after_move": "aten::mm.out: its arguments need 32768 bytes of scratch memory, at load there were to be",
    "linear_scratch_after_move": "aten::linear.out: its arguments need 32768 bytes of scratch memory, at load there were to be",
    "index_put_out_on_index": "aten::index_put.out: its out, value 5, overlaps its argument 1",
    "scatter_out_on_index": "aten::scatter.src_out: its out, value 4, overlaps its argument 2",
    "embedding_out_on_index": "aten::embedding.out: its out, value 5, overlaps its argument 1",
    "index_tensor_out_on_index": "aten::index.Tensor_out: its out, value 3, overlaps its argument 1",
    "index_select_out_on_index": "aten::index_select.out: its out, value 3, overlaps its argument 2",
    "malformed_py_index_alias": "aten::index_put.out: its out, value 35, overlaps its argument 1",
    "cat_out_is_input": "aten::cat.out: its out, value 0, overlaps its argument 0",
    "joins_itself_without_elements": "aten::cat.out: its out, value 5, overlaps its argument 0",
    "et_view_capacity": "aten::add.out: the result takes 256 bytes, where the program gives it 4",
    "unplanned_input_resized": "aten::add.out: argument 3, value 0, is written, and is a constant or an input in the caller's memory",
    "stale_view": "aten::add.out: argument 0, value 4, has no memory",
    "set_input_after_view": "argument 2, value 3, is an input or a constant, and cannot become a view",
    "output_never_written": "output 0, value 0, is written by no instruction",
    "ubsan_null_offset_matmul": "instruction 1: its argument 1, value 4, must be a number",
}
"""What each program is told."""
FUZZED = (
    "view_of_a_moved_value",
    "view_not_followed",
    "string_at_the_end_of_the_file",
    "no_elements_in_no_memory",
    "window_far_beyond_the_image",
)
"""Programs that the fuzz test found: what happens to them depends on their inputs."""


def outcome(name: str, second: bool = True) -> str:
    """What a program is told when it is loaded and run twice, with `second` for the bools of the second run."""
    try:
        program = Runtime.get().load_program(CRAFTED / f"{name}.pte")
        method = program.load_method()
        for truth in (True, second):
            method.execute([example(info, truth) for info in program.metadata().inputs])
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
    message = outcome(name, second=False)
    assert REFUSED[name] in message and "\n" not in message, message


@pytest.mark.parametrize("name", FUZZED)
def test_a_program_of_the_fuzz_test_is_told_why_or_runs(name: str):
    outcome(name)


IN_PLACE = "in_place_on_a_broadcast_operand"


def test_a_divisor_that_is_broadcast_is_not_written_over():
    """Its zeros are looked for before the result, which lies on it, is written; it would be read again for the second row."""
    program = Runtime.get().load_program(CRAFTED / f"{IN_PLACE}.pte")
    method = program.load_method()
    ones, types = np.ones((2, 3)), [info.tensor.type for info in program.metadata().inputs if info.tensor]
    for rows in (2, 1):
        assert not method.execute([ones[:rows].astype(types[0]), ones.astype(types[1])])[0].any()
    with pytest.raises(FlambeauError, match="the result has a size of 2, where the operand in whose memory it lies has 1"):
        method.execute([ones.astype(types[0]), ones[:1].astype(types[1])])


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


def test_every_crafted_program_is_tried():
    assert {path.stem for path in CRAFTED.glob("*.pte")} == {*REFUSED, *FUZZED, IN_PLACE, "topk_scratch_wraps_32bit"}


def test_scratch_memory_beyond_32_bits_is_asked_for():
    program = Runtime.get().load_program(CRAFTED / "topk_scratch_wraps_32bit.pte")
    beside_the_entries = program.metadata().memory.scratch - 32 * 134217732
    assert 0 < beside_the_entries < 10_000


def test_a_view_lasts_until_the_next_run():
    program = Runtime.get().load_program(CRAFTED / "stale_view.pte")
    method = program.load_method()
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
