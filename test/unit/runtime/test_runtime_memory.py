"""The memory that the C runtime takes, against the computed one."""

from collections.abc import Iterator

import numpy as np
import pytest
from runtime_programs import BOOL, PROGRAMS, add_plan, call, plan, stock, tensor, write

from flambeau.runtime import Memory, Runtime, pte
from flambeau.runtime.binding.library import library
from flambeau.runtime.memory import MethodCounts, count_method, method_memory


def programs() -> Iterator[tuple[str, bytes]]:
    """Every stock program, and generated ones of all kinds of values and instructions."""
    for path in sorted(PROGRAMS.glob("*.pte")):
        if path.stem != "delegate":  # its backend is not there
            yield path.stem, path.read_bytes()
    generator = np.random.default_rng(0)
    for number in range(40):
        values: list[pte.Value] = [tensor(2, 3, at=0), tensor(2, 3, at=32), pte.Int(1), tensor(2, 3, at=64), pte.Bool(True), tensor(2, 3)]
        for _ in range(generator.integers(0, 12)):
            rank = int(generator.integers(0, 5))
            dynamism = pte.TensorShapeDynamism(int(generator.integers(0, 2)))
            values += [
                (tensor(*[2] * rank, shape_dynamism=dynamism), pte.Null(), pte.Double(0.5), pte.String("text"))[generator.integers(0, 4)],
                (pte.IntList((2,) * 3), pte.TensorList((0, 1)), pte.OptionalTensorList((-1, 0, -1)), pte.BoolList((True,)))[
                    generator.integers(0, 4)
                ],
            ]
        calls: list[pte.Instruction] = [call(0, 0, 1, 2, 3, 3)] * int(generator.integers(1, 6))
        calls += [pte.MoveCall(0, 1), pte.FreeCall(5), pte.JumpFalseCall(4, 0)][: generator.integers(0, 4)]
        outputs = [3] * int(generator.integers(0, 4))
        arena = int(generator.integers(96, 200))
        yield f"generated {number}", write(plan(values, calls, ["aten::add.out"], [0, 1], outputs, arena=arena, delegates=()))


@pytest.mark.parametrize(("name", "data"), list(programs()), ids=lambda value: value if isinstance(value, str) else "")
def test_python_computes_what_c_measures(name: str, data: bytes):
    methods = pte.read_program(data).execution_plan
    loaded = Runtime.get().load_program(data)
    for method in methods:
        memory = loaded.metadata(method.name).memory
        assert memory == Memory(method_memory(method), memory.scratch, method.non_const_buffer_sizes[1:]), name


def test_parts_are_counted():
    values: list[pte.Value] = [
        tensor(2, 3, at=0),
        tensor(2, 3, 4, shape_dynamism=pte.TensorShapeDynamism.DYNAMIC_BOUND),
        pte.Int(2),
        pte.IntList((2, 2)),
        pte.TensorList((0,)),
        pte.OptionalTensorList((-1, 1)),
        pte.DoubleList((1.0, 2.0)),
        tensor(type=BOOL, at=32),
    ]
    counts = count_method(plan(values, [call(0, 0, 0), pte.JumpFalseCall(7, 0)], ["a.out"], [0, 1, 2], [0], delegates=()))
    assert counts == MethodCounts(values=8, tensors=3, instructions=2, delegates=0, ports=4, arenas=1, pointers=7, dims=8)
    assert counts.nbytes(8) == 8 * 24 + 3 * 56 + 2 * 24 + 4 * 24 + 8 * 8 + 8 * 4 + 8  # rounded up to 16
    assert counts.nbytes(4) == 8 * 16 + 3 * 28 + 2 * 16 + 4 * 12 + 8 * 4 + 8 * 4 + 12


def test_a_dynamic_constant_keeps_its_sizes_in_the_file():
    constant = tensor(4, data_buffer_idx=1, shape_dynamism=pte.TensorShapeDynamism.DYNAMIC_BOUND)
    program = write(plan([constant], [], [], [], [0], delegates=()), constants=(memoryview(b""), memoryview(b"\0" * 16)))
    (method,) = pte.read_program(program).execution_plan
    assert count_method(method).dims == 1
    assert Runtime.get().load_program(program).metadata().memory.method == method_memory(method)


def test_methods_take_no_byte_more_than_measured():
    # C refuses less, and the sanitizers of the C tests see more.
    for data in (write(add_plan()), stock("cond").read_bytes()):
        method = Runtime.get().load_program(data).load_method()
        assert method.memory == method.metadata.memory
    assert library().fl_version() == 0x00000100


@pytest.mark.parametrize("operator", ["cat", "stack"])
def test_a_list_may_be_longer_than_what_is_measured(operator: str):
    count = 300
    data = write(
        plan(
            [tensor(1, 2), tensor(*((count, 2) if operator == "cat" else (count, 1, 2)), at=0), pte.TensorList((0,) * count), pte.Int(0)],
            [call(0, 2, 3, 1, 1)],
            [f"aten::{operator}.out"],
            [0],
            [1],
            arena=count * 8,
        )
    )
    x = np.array([[1, 2]], np.float32)
    found = Runtime.get().load_program(data).load_method("forward").execute([x])[0]
    assert np.array_equal(np.asarray(found).reshape(count, 2), np.tile(x, (count, 1)))
