"""State of a method as Python shows it: by name, by number where it has none, and never a view of it."""

import numpy as np
from runtime_programs import call, method, plan, tensor

from flambeau.runtime import Method, pte
from flambeau.runtime.pte.records import EMPTY

ZEROS = ((EMPTY, memoryview(bytes(32))),)


def adds_to(*states: pte.Tensor) -> Method:
    """A method that adds its input to each of its states, which have four elements, and returns the last sum."""
    values: list[pte.Value] = [tensor(4, at=0), pte.Int(1), pte.Bool(False), tensor(4, at=16), *states]
    calls: list[pte.Instruction] = []
    for state in range(4, len(values)):
        calls += [call(0, state, 0, 1, 3, 3), call(1, state, 3, 2, state)]
    return method(plan(values, calls, ["aten::add.out", "aten::copy_"], [0], [3]), mutable_data=ZEROS)


def named(name: str) -> pte.ExtraTensorInfo:
    return pte.ExtraTensorInfo(fully_qualified_name=name)


def test_states_without_a_name_have_their_number():
    """Stock ExecuTorch names no buffer unless it is asked to."""
    loaded = adds_to(tensor(4, at=32, data_buffer_idx=1), tensor(4, at=48, data_buffer_idx=1))
    assert list(loaded.state) == ["0", "1"]
    loaded.state["1"] = np.full(4, 5.0, np.float32)
    loaded.execute([np.ones(4, np.float32)])
    np.testing.assert_array_equal(loaded.state["0"], np.ones(4))
    np.testing.assert_array_equal(loaded.state["1"], np.full(4, 6.0))


def test_of_two_states_of_one_name_the_first_has_it():
    """Stock ExecuTorch gives a view of a buffer, for which it needs no instruction, the name and the memory of the buffer."""
    values: list[pte.Value] = [
        tensor(2, 2, at=32, data_buffer_idx=1, extra_tensor_info=named("k")),
        tensor(4, at=0),
        pte.Int(1),
        tensor(4, at=16),
        tensor(4, at=32, data_buffer_idx=1, extra_tensor_info=named("k")),
    ]
    loaded = method(plan(values, [call(0, 1, 4, 2, 3, 3)], ["aten::add.out"], [1], [3]), mutable_data=ZEROS)
    assert list(loaded.state) == ["k"] and loaded.state["k"].shape == (2, 2)
    loaded.state["k"] = np.full((2, 2), 3.0, np.float32)
    np.testing.assert_array_equal(loaded.execute([np.ones(4, np.float32)])[0], np.full(4, 4.0))


def test_a_view_of_state_is_not_another_state():
    """Stock ExecuTorch gives such a view the name of the buffer too; it has no memory before an execution."""
    values: list[pte.Value] = [
        tensor(2, 2, at=32, data_buffer_idx=1, extra_tensor_info=named("k")),
        tensor(4, at=0),
        pte.Int(1),
        tensor(4, at=16),
        tensor(4, at=32, data_buffer_idx=1, extra_tensor_info=named("view of k")),
        pte.Int(4),
        pte.IntList((5,)),
    ]
    calls: list[pte.Instruction] = [call(1, 0, 6, 4), call(0, 1, 4, 2, 3, 3)]
    loaded = method(plan(values, calls, ["aten::add.out", "executorch_prim::et_view.default"], [1], [3]), mutable_data=ZEROS)
    for _ in range(2):
        assert list(loaded.state) == ["k"]
        loaded.state["k"] = np.full((2, 2), 3.0, np.float32)
        np.testing.assert_array_equal(loaded.execute([np.ones(4, np.float32)])[0], np.full(4, 4.0))
