"""The .pte format: records to bytes and back, damaged files."""

import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flambeau.runtime import pte
from flambeau.runtime.pte import flatbuffer_tables as schema
from flambeau.runtime.pte.records import EMPTY
from flambeau.runtime.pte.writer import HEADER_LENGTH, SEGMENT_ALIGNMENT, Encoder


def data(text: bytes) -> memoryview:
    return memoryview(text)


def everything() -> pte.Program:
    """A program that uses every field of the format."""
    values = (
        pte.Tensor(pte.ScalarType.FLOAT, (2, 3), (1, 0), allocation_info=pte.AllocationDetails.at(1, 0)),
        pte.Tensor(pte.ScalarType.FLOAT, (2, 3), (0, 1), data_buffer_idx=1),
        pte.Tensor(
            pte.ScalarType.LONG,
            (),
            (),
            1,
            pte.AllocationDetails.at(2, 8),
            extra_tensor_info=pte.ExtraTensorInfo(fully_qualified_name="counter"),
        ),
        pte.Tensor(pte.ScalarType.BYTE, (0,), (0,), shape_dynamism=pte.TensorShapeDynamism.DYNAMIC_BOUND),
        pte.Null(),
        pte.Int(-(2**63)),
        pte.Int(1),
        pte.Bool(True),
        pte.Double(-0.0),
        pte.Double(1e300),
        pte.String("größe"),
        pte.String(""),
        pte.IntList((5, 6, 5)),
        pte.DoubleList((0.0, -0.0, 2.5)),
        pte.BoolList((True, False)),
        pte.TensorList((0, 1)),
        pte.OptionalTensorList((0, -1, 4)),
        pte.IntList(),
    )
    instructions = (
        pte.KernelCall(0, (0, 1, 6, 0, 0)),
        pte.JumpFalseCall(7, 3),
        pte.MoveCall(0, 2),
        pte.DelegateCall(0, (0, 1)),
        pte.FreeCall(3),
        pte.KernelCall(1, ()),
    )
    forward = pte.ExecutionPlan(
        name="forward",
        values=values,
        inputs=(0, 5),
        outputs=(2,),
        chains=(
            pte.Chain(instructions, stacktrace=tuple(pte.FrameList((pte.Frame("model.py", 7, "forward", "x + 1"),)) for _ in instructions)),
        ),
        operators=(pte.Operator("aten::add", "out"), pte.Operator("ns::op")),
        delegates=(
            pte.BackendDelegate("B", data(b"payload"), (pte.CompileSpec("k", data(b"v")), pte.CompileSpec("none"))),
            pte.BackendDelegate("B"),
        ),
        non_const_buffer_sizes=(0, 48, 16),
        container_meta_type=pte.ContainerMetadata("in", "out"),
    )
    second = pte.ExecutionPlan(name="second", chains=(pte.Chain(),), delegates=(pte.BackendDelegate("C", data(b"payload")),))
    return pte.Program(
        execution_plan=(forward, second),
        constants=(EMPTY, data(bytes(range(24)))),
        mutable_data=((EMPTY, data(b"\1\0\0\0\0\0\0\0")),),
        named_data=(
            pte.NamedData("flambeau.json", data(b"{}")),
            pte.NamedData("weights", data(b"x" * 130)),
            pte.NamedData("same", data(b"{}")),
        ),
    )


def written(program: pte.Program, constant_alignment: int = 16) -> bytes:
    return b"".join(pte.write_program(program, constant_alignment=constant_alignment))


def test_every_field_survives() -> None:
    program = everything()
    read = pte.read_program(written(program))
    assert read == program
    # Equality does not see the sign of zero.
    assert str(read.execution_plan[0].values[8]) == "Double(double_val=-0.0)"
    assert str(read.execution_plan[0].values[13]) == "DoubleList(items=(0.0, -0.0, 2.5))"


def test_the_same_records_give_the_same_bytes() -> None:
    assert written(everything()) == written(everything())
    assert written(pte.read_program(written(everything()))) == written(everything())


def test_header_and_segments_lie_as_the_format_says() -> None:
    file = written(everything())
    header = pte.read_header(memoryview(file))
    assert header is not None
    assert file[4:12] == b"ET12eh00"
    assert struct.unpack_from("<I", file, 12) == (HEADER_LENGTH,)
    assert header.segment_base_offset % SEGMENT_ALIGNMENT == 0
    assert header.segment_base_offset - header.program_size < SEGMENT_ALIGNMENT
    assert header.segment_base_offset + header.segment_data_size == len(file)
    # Constants, initial values, delegates (equal payloads once), named data (equal contents once), each at a multiple of 128.
    segments = file[header.segment_base_offset :]
    assert segments[:24] == bytes(range(24))
    assert segments[128:136] == b"\1\0\0\0\0\0\0\0"
    assert segments[256:263] == b"payload"
    assert segments[384:386] == b"{}"
    assert segments[512:] == b"x" * 130
    assert segments.count(b"payload") == 1
    assert segments.count(b"{}") == 1


def test_contents_that_differ_in_the_middle_only_are_two() -> None:
    contents = [bytes(500) + bytes([number]) + bytes(500) for number in (1, 2, 1)]
    named = tuple(pte.NamedData(f"w{index}", data(content)) for index, content in enumerate(contents))
    file = written(pte.Program(named_data=named))
    assert [item.data for item in pte.read_program(file).named_data] == contents
    assert [file.count(content) for content in contents] == [1, 1, 1]


@pytest.mark.parametrize("alignment", [1, 16, 64])
def test_constants_are_aligned(alignment: int) -> None:
    constants = (EMPTY, data(b"a" * 5), data(b"b" * 70), data(b"c" * 3))
    values = tuple(pte.Tensor(pte.ScalarType.BYTE, (len(constants[i]),), (0,), i) for i in (1, 2, 3))
    program = pte.Program((pte.ExecutionPlan("f", values, chains=(pte.Chain(),)),), constants)
    file = written(program, alignment)
    assert pte.read_program(file) == program
    header = pte.read_header(memoryview(file))
    assert header is not None
    segment = file[header.segment_base_offset :]
    assert all(segment.index(letter) % alignment == 0 for letter in (b"a", b"b", b"c"))
    assert len(segment) == segment.index(b"c") + 3


def test_alignment_must_be_a_power_of_two() -> None:
    with pytest.raises(pte.PteError, match="cannot be aligned to 24 bytes"):
        pte.write_program(pte.Program(), constant_alignment=24)


def test_a_program_without_data_has_no_header() -> None:
    program = pte.Program((pte.ExecutionPlan("f", chains=(pte.Chain(),)),))
    file = written(program)
    assert pte.read_header(memoryview(file)) is None
    assert pte.read_program(file) == program


def test_weights_are_neither_copied_on_reading_nor_on_writing() -> None:
    weights = memoryview(bytes(1 << 16))
    values = (pte.Tensor(pte.ScalarType.BYTE, (1 << 16,), (0,), 1),)
    program = pte.Program((pte.ExecutionPlan("f", values, chains=(pte.Chain(),)),), (EMPTY, weights))
    parts = pte.write_program(program)
    assert any(part is weights for part in parts)
    file = b"".join(parts)
    assert pte.read_program(file).constants[1].obj is file


def test_equal_tables_are_written_once() -> None:
    def plan(count: int) -> pte.Program:
        tensor = pte.Tensor(pte.ScalarType.FLOAT, (4, 4), (0, 1), allocation_info=pte.AllocationDetails.at(1, 0))
        return pte.Program((pte.ExecutionPlan("f", (tensor,) * count, chains=(pte.Chain(),), non_const_buffer_sizes=(0, 64)),))

    # One more equal value costs its entry in the list of values, padding aside.
    assert len(written(plan(33))) - len(written(plan(1))) == 32 * 4


def test_inline_constants_of_old_files_are_read() -> None:
    # A root table whose only fields are execution_plan (1) and constant_buffer (2), written by hand: header-less, as files were before
    # constants had a segment.
    tensor = pte.Tensor(pte.ScalarType.BYTE, (4,), (0,), 1)
    record = schema.ProgramRecord(
        execution_plan=(schema.PlanRecord("f", values=(tensor,), chains=(pte.Chain(),), non_const_buffer_sizes=(0,)),),
        constant_buffer=(schema.InlineBytes(), schema.InlineBytes(data(b"\1\2\3\4"))),
    )
    assert pte.read_program(Encoder().encode(record)).constants == (b"", b"\1\2\3\4")


def bad_plan(
    *values: object, instructions: tuple[object, ...] = (), sizes: tuple[int, ...] = (0, 16), inputs: tuple[int, ...] = ()
) -> pte.Program:
    plan = pte.ExecutionPlan(
        "f",
        values=values,  # pyright: ignore[reportArgumentType]  # wrong on purpose
        inputs=inputs,
        chains=(pte.Chain(instructions),),  # pyright: ignore[reportArgumentType]  # wrong on purpose
        non_const_buffer_sizes=sizes,
    )
    return pte.Program((plan,))


BAD: list[tuple[str, pte.Program]] = [
    ("version 1", pte.Program(version=1)),
    ("two methods called 'f'", pte.Program((pte.ExecutionPlan("f", chains=(pte.Chain(),)), pte.ExecutionPlan("f", chains=(pte.Chain(),))))),
    ("two named data called 'k'", pte.Program(named_data=(pte.NamedData("k"), pte.NamedData("k")))),
    ("inputs: there is no value 0: the method has 0", bad_plan(inputs=(0,))),
    ("value 0: item 1 is not an int but a Null", bad_plan(pte.IntList((1,)), pte.Null())),
    ("value 0: there is no value 7", bad_plan(pte.TensorList((7,)))),
    ("there is no value -2", bad_plan(pte.OptionalTensorList((-2,)))),
    ("dim order", bad_plan(pte.Tensor(pte.ScalarType.INT, (2, 2), (0, 0)))),
    ("negative size", bad_plan(pte.Tensor(pte.ScalarType.INT, (-2,), (0,)))),
    ("rank 17", bad_plan(pte.Tensor(pte.ScalarType.INT, (1,) * 17, tuple(range(17))))),
    ("there is no arena 2", bad_plan(pte.Tensor(pte.ScalarType.INT, (1,), (0,), 0, pte.AllocationDetails.at(2, 0)))),
    ("ends at byte 20 of arena 1, which has 16", bad_plan(pte.Tensor(pte.ScalarType.INT, (4,), (0,), 0, pte.AllocationDetails.at(1, 4)))),
    ("there is no constant 3", bad_plan(pte.Tensor(pte.ScalarType.INT, (1,), (0,), 3))),
    ("there is no initial value 3", bad_plan(pte.Tensor(pte.ScalarType.INT, (1,), (0,), 3, pte.AllocationDetails.at(1, 0)))),
    ("instruction 0: there is no operator 0", bad_plan(instructions=(pte.KernelCall(0, ()),))),
    ("instruction 0: there is no delegate 1", bad_plan(instructions=(pte.DelegateCall(1, ()),))),
    ("instruction 0: it jumps to instruction 9 of 1", bad_plan(pte.Bool(), instructions=(pte.JumpFalseCall(0, 9),))),
    ("instruction 0: there is no value 1", bad_plan(pte.Bool(), instructions=(pte.MoveCall(0, 1),))),
    ("instruction 0: there is no value -1", bad_plan(instructions=(pte.FreeCall(-1),))),
    ("chains: the method has none", pte.Program((pte.ExecutionPlan("f"),))),
]


@pytest.mark.parametrize(("message", "program"), BAD, ids=[message for message, _ in BAD])
def test_senseless_records_are_refused(message: str, program: pte.Program) -> None:
    with pytest.raises(pte.PteError, match=message) as caught:
        pte.write_program(program)
    assert "\n" not in str(caught.value)


def test_numbers_out_of_range_are_refused() -> None:
    with pytest.raises(pte.PteError, match="int_val = 9223372036854775808 is out of the range"):
        pte.write_program(bad_plan(pte.Int(2**63)))


sizes = st.lists(st.integers(0, 5), max_size=4).map(tuple)


@st.composite
def tensors(draw: st.DrawFn) -> pte.Tensor:
    shape = draw(sizes)
    order = tuple(draw(st.permutations(range(len(shape)))))
    scalar_type = draw(st.sampled_from(pte.ScalarType))
    place = draw(st.none() | st.builds(pte.AllocationDetails.at, st.just(1), st.integers(0, 2**32 + 100)))
    return pte.Tensor(scalar_type, shape, order, 0, place, draw(st.sampled_from(pte.TensorShapeDynamism)))


@st.composite
def programs(draw: st.DrawFn) -> pte.Program:
    simple = st.one_of(
        st.builds(pte.Null),
        st.builds(pte.Int, st.integers(-(2**63), 2**63 - 1)),
        st.builds(pte.Bool, st.booleans()),
        st.builds(pte.Double, st.floats(allow_nan=False)),
        st.builds(pte.String, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))),
        st.builds(pte.DoubleList, st.lists(st.floats(allow_nan=False), max_size=3).map(tuple)),
        st.builds(pte.BoolList, st.lists(st.booleans(), max_size=3).map(tuple)),
        tensors(),
    )
    values = draw(st.lists(simple, max_size=8))
    ints = [index for index, value in enumerate(values) if isinstance(value, pte.Int)]
    found = [index for index, value in enumerate(values) if isinstance(value, pte.Tensor)]
    lists: list[pte.IntList | pte.TensorList | pte.OptionalTensorList] = []
    if ints:
        lists.append(pte.IntList(tuple(draw(st.lists(st.sampled_from(ints), max_size=4)))))
    if found:
        lists.append(pte.TensorList(tuple(draw(st.lists(st.sampled_from(found), max_size=4)))))
        lists.append(pte.OptionalTensorList(tuple(draw(st.lists(st.sampled_from([*found, -1]), max_size=4)))))
    every = (*values, *lists)
    index = st.integers(0, max(len(every) - 1, 0))
    indices = st.lists(index, max_size=4).map(tuple) if every else st.just(())
    operators = tuple(
        draw(st.lists(st.builds(pte.Operator, st.sampled_from(["aten::add", "a::b"]), st.sampled_from(["", "out"])), max_size=3))
    )
    calls = st.builds(pte.KernelCall, st.integers(0, len(operators) - 1), indices) if operators else st.nothing()
    moves = st.builds(pte.MoveCall, index, index) if every else st.nothing()
    frees = st.builds(pte.FreeCall, index) if every else st.nothing()
    instructions = tuple(draw(st.lists(st.one_of(calls, moves, frees), max_size=6)) if (operators or every) else ())
    plan = pte.ExecutionPlan("f", every, draw(indices), draw(indices), (pte.Chain(instructions),), operators, (), (0, 2**40))
    named = draw(st.dictionaries(st.text("abc", max_size=3), st.binary(max_size=40), max_size=3))
    return pte.Program((plan,), named_data=tuple(pte.NamedData(key, memoryview(value)) for key, value in named.items()))


@settings(max_examples=150, deadline=None, derandomize=True)
@given(programs())
def test_what_is_written_is_read(program: pte.Program) -> None:
    file = written(program)
    assert pte.read_program(file) == program
    assert written(pte.read_program(file)) == file


FILE = written(everything())


def judge(file: bytes) -> None:
    """A damaged file is either refused with one line or still a program."""
    try:
        program = pte.read_program(file)
    except pte.PteError as error:
        assert "\n" not in str(error)
        return
    pte.write_program(program)


def test_every_truncation_is_refused() -> None:
    for length in range(len(FILE)):
        with pytest.raises(pte.PteError):
            pte.read_program(FILE[:length])


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.integers(0, len(FILE) * 8 - 1)), min_size=1, max_size=3))
def test_flipped_bits_never_escape_the_reader(bits: list[tuple[int]]) -> None:
    damaged = bytearray(FILE)
    for (bit,) in bits:
        damaged[bit // 8] ^= 1 << bit % 8
    judge(bytes(damaged))


@settings(max_examples=500, deadline=None, derandomize=True)
@given(st.integers(0, len(FILE) // 4 - 1), st.sampled_from([0, 1, 4, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFF0000]))
def test_extreme_words_never_escape_the_reader(word: int, value: int) -> None:
    damaged = bytearray(FILE)
    struct.pack_into("<I", damaged, word * 4, value)
    judge(bytes(damaged))


class OverlappingEncoder(Encoder):
    """Makes each list of one integer end up inside one long list, from a later element on, whose upper half serves as the length."""

    def _vector(self, packed: bytes, length: int, alignment: int) -> int:
        if alignment == 8 and length == 1:
            (later,) = struct.unpack("<q", packed)
            return self.long_list - 8 * (later + 1)
        offset = super()._vector(packed, length, alignment)
        if alignment == 8 and length > 1:
            self.long_list = offset
        return offset


def test_overlapping_tables_do_not_multiply_the_work() -> None:
    count = 4000
    values = (pte.IntList((count // 2 << 32,) * count), *(pte.IntList((later,)) for later in range(count // 2)))
    plan = schema.PlanRecord("f", values=values, chains=(pte.Chain(),))
    with pytest.raises(pte.PteError, match="its tables overlap"):
        pte.read_program(OverlappingEncoder().encode(schema.ProgramRecord(execution_plan=(plan,))))


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (b"", "it has 0 bytes"),
        (b"\x7fELF\2\1\1\0", "not 'ET12'|not b'ET12'"),
        (FILE[:20], "cut off inside its header"),
        (FILE[:200], "the program is cut off: its header says"),
        (FILE[:-1], "the program is cut off: its segments should end at byte"),
    ],
)
def test_messages_say_what_is_wrong(file: bytes, message: str) -> None:
    with pytest.raises(pte.PteError, match=message):
        pte.read_program(file)
