"""What a program can get wrong about itself, each refused with its own line. The C fuzz test damages bytes; here whole fields are wrong."""

import re
import struct
from dataclasses import replace

import numpy as np
import pytest
from runtime_programs import BOOL, call, plan, stock, tensor, write

from flambeau.runtime import FlambeauError, Runtime, Status, pte
from flambeau.runtime.pte.records import EMPTY

FLOAT = pte.ScalarType.FLOAT
STANDARD: tuple[pte.Value, ...] = (tensor(2, 3, at=0), tensor(2, 3, at=32), pte.Int(1), tensor(2, 3, at=64))
INVALID, UNSUPPORTED = Status.INVALID_PROGRAM, Status.NOT_SUPPORTED


def with_value(value: pte.Value, arena: int = 256) -> pte.ExecutionPlan:
    """A sound method with one more value, number 4."""
    return plan([*STANDARD, value], [call(0, 0, 1, 2, 3, 3)], ["aten::add.out"], [0, 1], [3], arena=arena)


def with_instruction(instruction: pte.Instruction, *values: pte.Value, operator: str = "aten::add.out") -> pte.ExecutionPlan:
    """A method of one instruction; `values` have the numbers from 4."""
    return plan([*STANDARD, *values], [instruction], [operator], [0, 1], [3])


def placed(arena: int, offset: int) -> pte.Tensor:
    return pte.Tensor(FLOAT, (4,), (0,), allocation_info=pte.AllocationDetails.at(arena, offset))


CONSTANT = tensor(2, 3, data_buffer_idx=1)
REFUSED: dict[str, tuple[pte.ExecutionPlan, Status, str]] = {
    "rank": (with_value(tensor(*[1] * 17)), INVALID, "value 4 is a tensor with 17 sizes"),
    "dim order length": (with_value(tensor(2, 3, dim_order=(0,))), INVALID, "value 4 is a tensor with 2 sizes and a dim order of 1"),
    "dim order repeated": (with_value(tensor(2, 3, dim_order=(0, 0))), INVALID, "whose dim order is not a permutation"),
    "dim order range": (with_value(tensor(2, 3, dim_order=(0, 2))), INVALID, "whose dim order is not a permutation"),
    "negative size": (with_value(tensor(2, -3)), INVALID, "with the negative size -3"),
    "many elements": (with_value(tensor(2**16, 2**16)), UNSUPPORTED, "with too many elements"),
    "wide but empty": (with_value(tensor(0, 2**16, 2**16)), UNSUPPORTED, "with too many elements"),
    "dtype": (with_value(tensor(2, type=pte.ScalarType.QINT8)), UNSUPPORTED, "of scalar type 12"),
    "unbounded": (with_value(tensor(2, shape_dynamism=pte.TensorShapeDynamism.DYNAMIC_UNBOUND)), UNSUPPORTED, "has no upper bound"),
    "storage offset": (with_value(tensor(2, storage_offset=1)), UNSUPPORTED, "with storage offset 1"),
    "external": (
        with_value(tensor(2, extra_tensor_info=pte.ExtraTensorInfo(0, "weight", pte.TensorDataLocation.EXTERNAL))),
        UNSUPPORTED,
        "the data of value 4 ('weight') lie in a .ptd file, which was not given (data_path)",
    ),
    "device": (
        with_value(tensor(2, extra_tensor_info=pte.ExtraTensorInfo(device_type=pte.DeviceType.CUDA))),
        UNSUPPORTED,
        "on device type 1",
    ),
    "arena": (with_value(placed(2, 0)), INVALID, "value 4 lies in memory 2, which is not between 1 and 1"),
    "arena 0": (with_value(placed(0, 0)), INVALID, "value 4 lies in memory 0, which is not between 1 and 1"),
    "end of arena": (with_value(placed(1, 248)), INVALID, "value 4 (16 bytes at 248) exceeds memory 1 of 256 bytes"),
    "far offset": (with_value(placed(1, 2**63)), INVALID, "exceeds memory 1 of 256 bytes"),
    "odd offset": (with_value(placed(1, 2)), INVALID, "whose offset in its memory, 2, is not a multiple of its element size"),
    "negative arena": (with_value(pte.Null(), arena=-1), INVALID, "memory 1 has -1 bytes"),
    "constant": (with_value(tensor(2, data_buffer_idx=7)), INVALID, "the 8 bytes of value 4 (constant 7) are not all in the file"),
    "large constant": (with_value(tensor(7, data_buffer_idx=1)), INVALID, "the 28 bytes of value 4 (constant 1) are not all in the file"),
    "initial value": (with_value(tensor(2, at=0, data_buffer_idx=1)), INVALID, "(constant 1) are not all in the file"),
    "list index": (with_value(pte.IntList((2, 9))), INVALID, "list 4 refers to value 9, which is not one of its 5 values"),
    "list of itself": (with_value(pte.TensorList((4,))), INVALID, "list 4 holds value 4, which is of another kind"),
    "list kind": (with_value(pte.IntList((0,))), INVALID, "list 4 holds value 0, which is of another kind"),
    "optional list": (with_value(pte.OptionalTensorList((-2,))), INVALID, "list 4 refers to value -2, which is not one of its 5 values"),
    "operator": (with_instruction(call(1, 0, 1, 2, 3, 3)), INVALID, "calls operator 1, which is not one of 1"),
    "delegate": (with_instruction(pte.DelegateCall(1, (0, 3))), INVALID, "calls delegate 1, which is not one of 1"),
    "argument": (with_instruction(call(0, 0, 1, 2, 3, 4)), INVALID, "instruction 0 refers to value 4, which is not one of its 4 values"),
    "returned": (with_instruction(call(0, 0, 1, 2, 0, 3)), INVALID, "its outs are not the values that it returns"),
    "constant out": (with_instruction(call(0, 0, 1, 2, 4, 4), CONSTANT), INVALID, "argument 3, value 4, is written, and is a constant"),
    "constant in place": (
        with_instruction(call(0, 4, 1, 5, 4), CONSTANT, pte.Bool(False), operator="aten::copy_"),
        INVALID,
        "argument 0, value 4, is written, and is a constant",
    ),
    "in place": (
        with_instruction(call(0, 0, 1, 4, 3), pte.Bool(False), operator="aten::copy_"),
        INVALID,
        "works in place on value 0 and returns value 3",
    ),
    "returned list": (
        with_instruction(call(0, 0, 2, 2, 3, 4), pte.TensorList((3, 1)), operator="aten::split_copy.Tensor_out"),
        INVALID,
        "its outs are not the values that it returns",
    ),
    "two returned lists": (
        with_instruction(call(0, 0, 2, 2, 4, 5), pte.TensorList((3, 1)), pte.TensorList((1, 3)), operator="aten::split_copy.Tensor_out"),
        INVALID,
        "its outs are not the values that it returns",
    ),
    "overlap": (
        with_instruction(call(0, 0, 1, 2, 4, 4), tensor(2, 3, at=16)),
        INVALID,
        "its out, value 4, overlaps its argument 0",
    ),
    "overlap in a list": (
        with_instruction(call(0, 4, 2, 5, 5), pte.TensorList((0, 1)), tensor(4, 3, at=48), operator="aten::cat.out"),
        INVALID,
        "its out, value 5, overlaps its argument 0",
    ),
    "move kind": (with_instruction(pte.MoveCall(2, 3)), INVALID, "it moves value 2 to value 3, which is of another kind"),
    "move dtype": (with_instruction(pte.MoveCall(4, 3), tensor(2, 3, type=pte.ScalarType.INT)), INVALID, "which has another dtype or rank"),
    "move rank": (with_instruction(pte.MoveCall(4, 3), tensor(6)), INVALID, "which has another dtype or rank"),
    "move index": (with_instruction(pte.MoveCall(0, 4)), INVALID, "instruction 0 refers to value 4, which is not one of its 4 values"),
    "jump": (
        with_instruction(pte.JumpFalseCall(4, 2), pte.Bool(False)),
        INVALID,
        "it jumps to instruction 2, which is not between 0 and 1",
    ),
    "jump back": (
        with_instruction(pte.JumpFalseCall(4, -1), pte.Bool(False)),
        INVALID,
        "it jumps to instruction -1, which is not between 0 and 1",
    ),
    "condition": (with_instruction(pte.JumpFalseCall(2, 0)), INVALID, "its condition, value 2, is neither a bool nor a tensor of bools"),
    "free": (with_instruction(pte.FreeCall(2)), INVALID, "it frees value 2, which is not a tensor"),
    "input": (plan([pte.Int(1)], [], [], [1], []), INVALID, "input 0 refers to value 1, which is not one of its 1 values"),
    "output": (plan([pte.Int(1)], [], [], [], [-1]), INVALID, "output 0 refers to value -1, which is not one of its 1 values"),
    "constant input": (plan([CONSTANT], [], [], [0], []), INVALID, "input 0 is a constant"),
}


def _accept(program: pte.Program) -> None:
    """Instead of the writer's check, which would refuse all of these."""


def refusal(program: bytes) -> FlambeauError:
    with pytest.raises(FlambeauError) as caught:
        Runtime.get().load_program(program).load_method()
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("name", REFUSED)
def test_a_malformed_method_is_refused(name: str, monkeypatch: pytest.MonkeyPatch):
    method, status, text = REFUSED[name]
    monkeypatch.setattr("flambeau.runtime.pte.writer.check_program", _accept)
    error = refusal(write(method, constants=(EMPTY, memoryview(b"\0" * 24))))
    assert (error.status, text in str(error)) == (status, True), error
    assert str(error).startswith("method 'forward'")


def test_a_sound_method_is_not_refused():
    # Nothing that writes value 3 follows the jump, so that it is no output there.
    jump = replace(with_instruction(pte.JumpFalseCall(4, 1), tensor(2, at=96, type=BOOL)), outputs=())
    for method in (with_value(pte.Null()), with_instruction(pte.MoveCall(0, 3)), jump):
        Runtime.get().load_program(write(method)).load_method()
    # In place, where both start at one byte; the output, value 5, lies there as well, and no call names it.
    in_place = with_instruction(call(0, 0, 1, 2, 4, 4), tensor(2, 3, at=0), tensor(6, at=0))
    Runtime.get().load_program(write(replace(in_place, outputs=(5,)))).load_method()


def test_what_this_runtime_lacks_refuses_the_method_and_not_the_program():
    program = Runtime.get().load_program(write(with_value(tensor(2, storage_offset=1)), plan([], [], [], [], [], name="other")))
    program.load_method("other")
    with pytest.raises(FlambeauError, match="storage offset"):
        program.load_method("forward")


def test_wrong_numbers_of_arguments_are_refused():
    error = refusal(write(with_instruction(call(0, 0, 3, 3))))
    assert str(error) == "method 'forward', instruction 0: aten::add.out takes 5 arguments, the program passes 3"


def test_segments_must_lie_in_the_file():
    data = bytearray(stock("linear").read_bytes())
    header = 8 + 4 + 4
    (size,) = struct.unpack_from("<Q", data, header + 16)
    struct.pack_into("<Q", data, header + 16, size + 1)
    assert "truncated or damaged" in str(refusal(bytes(data)))
    struct.pack_into("<Q", data, header + 16, size - 1)
    assert "exceeds the file's data" in str(refusal(bytes(data)))


@pytest.mark.parametrize("names", [("weight", "weight"), ("w", "v", "w"), tuple(f"w{i % 99}" for i in range(100))])
@pytest.mark.parametrize("shared", [True, False])
def test_two_named_data_of_one_name_are_refused(names: tuple[str, ...], shared: bool, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("flambeau.runtime.pte.writer.check_program", _accept)
    # The writer shares equal tables and segments; equal names in two tables have other data.
    named = tuple(pte.NamedData(name, memoryview(b"data" if shared else b"%4d" % number)) for number, name in enumerate(names))
    first = names.index(names[-1])
    expected = f"the program has two named data called {names[-1]!r}: number {first} and {len(names) - 1}"
    assert str(refusal(write(with_value(pte.Null()), named_data=named))) == expected


def test_a_name_of_named_data_is_a_text():
    data = write(with_value(pte.Null()), named_data=(pte.NamedData("weight", memoryview(b"data")),))
    assert str(refusal(data.replace(b"weight", b"wei\0ht"))) == "the file is damaged: the name of named data 0 has a zero byte"


@pytest.mark.parametrize("length", [1, 3, 4, 5, 64])
def test_many_named_data_are_found_by_their_names(length: int):
    named = {f"{number:0{length}x}": b"%08d" % number for number in range(min(3000, 16**length))}
    data = write(with_value(pte.Null()), named_data=tuple(pte.NamedData(name, memoryview(item)) for name, item in named.items()))
    assert {name: bytes(item) for name, item in Runtime.get().load_program(data).named_data.items()} == named


def test_named_data_whose_comparison_would_take_long_are_refused():
    named = tuple(pte.NamedData(f"{number:x}", memoryview(b"data")) for number in range(20000))
    error = refusal(write(with_value(pte.Null()), named_data=named))
    assert error.status == UNSUPPORTED
    assert re.fullmatch(r"the program has 20000 named data, more than can be compared in a file of \d+ bytes without its data", str(error))


def test_newer_programs_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("flambeau.runtime.pte.writer.check_program", _accept)
    data = bytearray(stock("add").read_bytes())
    data[7:8] = b"3"
    assert "another format version" in str(refusal(bytes(data)))
    assert "schema version is 1" in str(refusal(write(with_value(pte.Null()), version=1)))


def test_a_dynamic_out_lies_on_an_operand_of_its_sizes_only():
    left, right, out = (tensor(2, 3, at=at, shape_dynamism=pte.TensorShapeDynamism.DYNAMIC_BOUND) for at in (0, 32, 0))
    values: list[pte.Value] = [left, right, pte.Int(1), out]
    method = Runtime.get().load_program(write(plan(values, [call(0, 0, 1, 2, 3, 3)], ["aten::add.out"], [0, 1], [3]))).load_method()
    one, two = np.ones((1, 3), np.float32), np.ones((2, 3), np.float32)
    for rows, others in ((one, one), (two, two), (two, one)):
        assert (method.execute([rows, others])[0] == np.full_like(rows, 2)).all()
    # The one row would be read again after the first row of the result was written there.
    with pytest.raises(FlambeauError, match="the result has a size of 2, where the operand in whose memory it lies has 1"):
        method.execute([one, two])
    assert (method.execute([two, two])[0] == 2).all()
