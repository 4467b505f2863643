"""The Python binding of the C runtime."""

import ctypes
import gc
import io
import math
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import ml_dtypes
import numpy as np
import pytest
from runtime_programs import BOOL, LONG, add_plan, call, load, method, plan, stock, tensor, write

from flambeau.runtime import FlambeauError, Runtime, Status, ValueTag, Verification, pte
from flambeau.runtime.binding import library

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def message(action: Any, *args: Any, **kwargs: Any) -> str:
    with pytest.raises(FlambeauError) as caught:
        action(*args, **kwargs)
    assert caught.value.status is not Status.OK
    text = str(caught.value)
    assert "\n" not in text
    return text


def test_import_is_fast_and_brings_neither_torch_nor_numpy():
    code = "import sys\nfrom flambeau.runtime import Runtime\nprint(sorted({'torch', 'numpy'} & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"


def test_structures_have_the_sizes_that_c_gives_them():
    assert ctypes.sizeof(library.CTensor) == 56
    assert ctypes.sizeof(library.CValue) == 24


def test_a_program_loads_from_a_path_bytes_and_a_file(tmp_path: Path):
    data = write(add_plan())
    path = tmp_path / "add.pte"
    path.write_bytes(data)
    runtime = Runtime.get()
    assert runtime is Runtime.get()
    for source in (path, str(path), data, bytearray(data), memoryview(data), io.BytesIO(data)):
        program = runtime.load_program(source, verification=Verification.Minimal)
        assert program.method_names == {"forward"}
        (output,) = program.load_method("forward").execute((X, X))
        assert np.array_equal(output, X + X)


def test_metadata_says_what_a_method_takes_gives_and_needs():
    meta = Runtime.get().load_program(stock("dynamic")).metadata("forward")
    info = meta.input_tensor_meta(0)
    assert (info.sizes(), info.dtype(), info.is_memory_planned(), info.nbytes(), info.is_dynamic) == ((6, 8), "float32", True, 192, True)
    assert (meta.num_inputs(), meta.num_outputs(), meta.output_tag(0)) == (1, 1, ValueTag.TENSOR)
    assert meta.operator_names == ("aten::permute_copy.out", "aten::addmm.out", "aten::relu.out")
    assert meta.memory.arenas == (meta.memory_planned_buffer_size(0),)
    assert meta.memory.total == meta.memory.method + meta.memory.scratch + sum(meta.memory.arenas)
    assert repr(meta) == "forward(float32[≤6, ≤8]) -> (float32[≤6, ≤4])"
    scalar = Runtime.get().load_program(stock("scalar")).metadata()
    assert (scalar.input_tag(1), scalar.inputs[1].value) == (ValueTag.INT, 3)
    with pytest.raises(TypeError, match="input 1 of 'forward' is not a tensor but INT"):
        scalar.input_tensor_meta(1)
    for read in (scalar.input_tensor_meta, scalar.input_tag):
        with pytest.raises(IndexError, match=r"^method 'forward' has no input 3; its inputs are 0 to 1$"):
            read(3)
    with pytest.raises(IndexError, match=r"^method 'forward' has no output -1; its outputs are 0 to 0$"):
        scalar.output_tag(-1)


def test_operators_and_backends_are_listed():
    runtime = Runtime.get()
    assert {"aten::add.out", "aten::addmm.out", "executorch_prim::add.Scalar"} <= runtime.operator_registry.operator_names
    assert "FlambeauElementwise" in runtime.backend_registry.registered_backend_names
    assert runtime.backend_registry.is_available("FlambeauElementwise")
    assert not runtime.backend_registry.is_available("FlambeauElementwis")


def test_inputs_of_any_layout_are_reordered():
    loaded = method(add_plan())
    for other in (np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], X[::-1, ::-1][::-1, ::-1], np.broadcast_to(X[0], (2, 3))):
        (output,) = loaded.execute((X, other))
        assert np.array_equal(output, X + other)


def test_channels_last_programs_take_any_layout_and_give_theirs():
    order = (0, 2, 3, 1)
    for at in ((0, 128, 256), (None, None, None)):
        values: list[pte.Value] = [tensor(1, 3, 2, 4, at=place, dim_order=order) for place in at]
        loaded = method(plan([*values, pte.Int(1)], [call(0, 0, 1, 3, 2, 2)], ["aten::add.out"], [0, 1], [2], arena=512))
        x = np.arange(24, dtype=np.float32).reshape(1, 3, 2, 4)
        (output,) = loaded.execute((x, np.ascontiguousarray(x.transpose(0, 2, 3, 1)).transpose(0, 3, 1, 2)))
        assert np.array_equal(output, x + x)
        assert output.transpose(order).flags.c_contiguous


def test_outputs_are_owned_unless_asked_otherwise():
    loaded = method(add_plan())
    (first,) = loaded.execute((X, X))
    (second,) = loaded.execute((X, 2 * X))
    assert np.array_equal(first, 2 * X) and np.array_equal(second, 3 * X)
    (view,) = loaded.execute((X, X), copy=False)
    loaded.execute((X, 3 * X))
    assert np.array_equal(view, 4 * X)
    del loaded
    gc.collect()
    assert np.array_equal(view, 4 * X)  # the view keeps the method and its memory


def test_unplanned_inputs_and_outputs_are_not_copied():
    loaded = Runtime.get().load_program(stock("unplanned")).load_method()
    (first,) = loaded.execute((X, X))
    (second,) = loaded.execute((X, np.asfortranarray(X)))
    assert np.array_equal(first, 2 * X) and np.array_equal(second, 2 * X)
    assert not np.shares_memory(first, second)
    frozen = X.copy()
    frozen.flags.writeable = False
    assert np.array_equal(loaded.execute((frozen, frozen))[0], 2 * X)
    identity = method(plan([tensor(2, 3)], [], [], [0], [0]))
    assert np.array_equal(identity.execute((X,))[0], X)
    assert not np.shares_memory(identity.execute((X,))[0], X)


def test_dynamic_shapes_follow_the_input():
    loaded = Runtime.get().load_program(stock("dynamic")).load_method()
    weight = np.arange(-16.0, 16.0, dtype=np.float32).reshape(4, 8)
    for rows in (6, 1, 3):
        x = np.linspace(-1, 1, rows * 8, dtype=np.float32).reshape(rows, 8)
        (output,) = loaded.execute((x,))
        assert np.allclose(output, np.maximum(x @ weight.T + np.arange(4), 0), atol=1e-4)
    assert "dimension 0 is 7, and must be at most 6" in message(loaded.execute, (np.zeros((7, 8), np.float32),))


def test_state_starts_with_its_initial_value_and_persists():
    loaded = Runtime.get().load_program(stock("state")).load_method()
    zeros = np.zeros(3, np.float32)
    assert [loaded.execute((zeros,))[0][0] for _ in range(3)] == [6, 7, 8]
    loaded.reset()
    assert loaded.execute((zeros,))[0][0] == 6
    other = Runtime.get().load_program(stock("state")).load_method()
    assert other.execute((zeros,))[0][0] == 6


def test_state_without_an_initial_value_starts_as_zeros():
    values: list[pte.Value] = [tensor(2, at=0), tensor(2, at=16), pte.Int(1), tensor(2, at=32), pte.Bool(False)]
    instructions: list[pte.Instruction] = [call(0, 0, 1, 2, 3, 3), call(1, 0, 3, 4, 0)]
    loaded = method(plan(values, instructions, ["aten::add.out", "aten::copy_"], [1], [3]))
    ones = np.ones(2, np.float32)
    assert [loaded.execute((ones,))[0][0] for _ in range(2)] == [1, 2]
    loaded.reset()
    assert loaded.execute((ones,))[0][0] == 1


def test_control_flow_of_stock_programs():
    loaded = Runtime.get().load_program(stock("cond")).load_method()
    x = np.arange(3, dtype=np.float32)
    for truth, expected in ((True, x + x), (False, x * x), (True, x + x)):
        assert np.array_equal(loaded.execute((np.array(truth), x))[0], expected)
    mapped = Runtime.get().load_program(stock("map")).load_method()
    rows = np.arange(12, dtype=np.float32).reshape(4, 3)
    for _ in range(2):
        assert np.array_equal(mapped.execute((rows, x))[0], rows + x)


def test_lists_and_several_outputs_of_stock_programs():
    loaded = Runtime.get().load_program(stock("lists")).load_method()
    indices, values, same = sorted(loaded.execute((X, X[:, ::-1])), key=lambda output: output.dtype.name == "float32")
    values, same = (values, same) if values.ndim == 1 else (same, values)
    assert np.array_equal(values, X.max(1)) and np.array_equal(indices, [2, 2]) and np.array_equal(same, X)


def test_lists_of_outs_of_stock_programs():
    x = np.arange(12, dtype=np.float32).reshape(2, 6)
    (output,) = Runtime.get().load_program(stock("split")).load_method().execute((x,))
    assert np.array_equal(output, x[:, [3, 4, 5, 0, 1, 2]])


def test_constants_in_the_flatbuffer_as_before_segments():
    loaded = Runtime.get().load_program(stock("legacy")).load_method()
    assert np.array_equal(loaded.execute((np.ones(2, np.float32),))[0], [2, 3])


def test_scalars_are_dynamic_where_the_program_reads_them():
    values: list[pte.Value] = [pte.Int(3), pte.Int(5), pte.Int(0), pte.Double(0.5), pte.Bool(True), pte.String("x"), pte.Null()]
    loaded = method(plan(values, [call(0, 0, 1, 2)], ["executorch_prim::add.Scalar"], [0, 1, 3, 4, 5, 6], [2, 3, 4, 5, 6]))
    assert loaded.execute((3, 5, 0.5, True, "x", None)) == [8, 0.5, True, "x", None]
    assert loaded.execute((np.int64(-4), 2**62, np.float32(2), np.bool_(False), "été", None)) == [2**62 - 4, 2.0, False, "été", None]
    assert loaded.execute((1, 2, 3, False, "", None))[1] == 3.0
    assert "input 0: expected int, got float" in message(loaded.execute, (3.0, 5, 0.5, True, "x", None))
    assert "input 0: expected int, got bool" in message(loaded.execute, (True, 5, 0.5, True, "x", None))
    assert f"input 1: {2**63} does not fit in 64 bits" in message(loaded.execute, (3, 2**63, 0.5, True, "x", None))
    assert f"input 2: {10**400} does not fit in 64 bits" in message(loaded.execute, (3, 4, 10**400, True, "x", None))
    assert "input 5: expected none, got int" in message(loaded.execute, (3, 5, 0.5, True, "x", 1))


def test_a_number_that_a_program_counts_on_is_restored_by_reset():
    loaded = method(plan([pte.Int(5), pte.Int(1)], [call(0, 0, 1, 0)], ["executorch_prim::add.Scalar"], [], [0]))
    assert [loaded.execute(())[0] for _ in range(2)] == [6, 7]
    loaded.reset()
    assert loaded.execute(()) == [6]


def test_a_scalar_that_nothing_reads_was_fixed_when_the_program_was_made():
    loaded = Runtime.get().load_program(stock("scalar")).load_method()
    ones = np.ones(3, np.float32)
    assert np.array_equal(loaded.execute((ones, 3))[0], 4 * ones)
    assert "method 'forward', input 1: the program takes only the value that it was made with, 3, not 4" == message(
        loaded.execute, (ones, 4)
    )


def test_each_kind_of_scalar_can_have_been_fixed():
    values: list[pte.Value] = [pte.Double(0.5), pte.Bool(True), pte.String("x"), pte.Null(), pte.IntList(())]
    loaded = method(plan(values, [], [], [0, 1, 2, 3], []))
    assert loaded.execute((0.5, True, "x", None)) == []
    for given, text in (
        ((0.25, True, "x", None), "input 0: the program takes only the value that it was made with, 0.5, not 0.25"),
        ((0.5, False, "x", None), "input 1: the program takes only the value that it was made with, True, not False"),
        ((0.5, True, "y", None), "input 2: the program takes only the value that it was made with, 'x', not 'y'"),
    ):
        assert message(loaded.execute, given) == f"method 'forward', {text}"
    lists = method(plan(values, [], [], [4], []))
    assert message(lists.execute, ([],)) == "method 'forward', input 0: expected int_list, got list"


def test_a_condition_without_memory_is_no_condition():
    loaded = method(plan([tensor(2, type=BOOL), tensor(2, at=0)], [pte.JumpFalseCall(0, 0), pte.FreeCall(1)], [], [], []))
    assert message(loaded.execute) == "method 'forward', instruction 0: its condition is not a bool"


def test_a_tensor_of_bools_is_true_when_all_are():
    values: list[pte.Value] = [tensor(2, at=0, type=BOOL), pte.Int(1), pte.Int(2), pte.Int(3)]
    instructions: list[pte.Instruction] = [pte.JumpFalseCall(0, 2), pte.MoveCall(1, 3), pte.FreeCall(0)]
    for truths, expected in (([True, True], 1), ([True, False], 3), ([False, False], 3)):
        assert method(plan(values, instructions, [], [0], [3])).execute((np.array(truths),)) == [expected]


def test_inputs_that_do_not_fit_are_named():
    loaded = method(add_plan())
    where = "method 'forward', input 1: "
    assert message(loaded.execute, (X,)) == "method 'forward' takes 2 inputs, got 1"
    assert message(loaded.execute, (X, X.astype(np.float64))) == where + "expected float32, got float64"
    assert message(loaded.execute, (X, X.astype(">f4"))) == where + "expected float32, got >f4"
    assert message(loaded.execute, (X, X[None])) == where + "expected 2 dimensions, got 3"
    assert message(loaded.execute, (X, X[:, :2])) == where + "dimension 1 is 2, and must be 3"
    assert message(loaded.execute, (X, [1])) == where + "expected a tensor (a numpy array, or anything with __dlpack__), got list"
    assert message(loaded.execute, (X, np.array(["a"]))).startswith(where + "expected float32, got <U1")
    assert np.array_equal(loaded.execute((X, X))[0], 2 * X)


def test_a_tensor_without_dimensions_takes_a_number_that_its_dtype_holds():
    loaded = method(plan([tensor(at=0), tensor(at=64, type=LONG)], [], [], [0, 1], [0, 1]))
    assert loaded.execute((0.25, 2)) == [0.25, 2]
    assert loaded.execute((3, True)) == [3.0, 1]
    assert message(loaded.execute, (0.25, 2.5)) == "method 'forward', input 1: 2.5 does not fit in int64"
    assert message(loaded.execute, (0.25, 2**63)) == f"method 'forward', input 1: {2**63} does not fit in int64"
    assert message(loaded.execute, (0.25,)) == "method 'forward' takes 2 inputs, got 1"


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64", "float16", "float32", "float64", "bool", "bfloat16"])
def test_every_dtype_goes_in_and_out(name: str):
    types = {
        "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7, "bool": 11, "bfloat16": 15
    }  # fmt: skip
    dtype = ml_dtypes.bfloat16 if name == "bfloat16" else np.dtype(name)
    x = np.array([0, 1, 1, 0], dtype).reshape(2, 2)
    for at in (0, None):
        identity = method(plan([tensor(2, 2, at=at, type=pte.ScalarType(types[name]))], [], [], [0], [0]))
        (output,) = identity.execute((x,))
        assert output.dtype == x.dtype and np.array_equal(output, x)


def test_tensors_without_elements_or_dimensions():
    identity = method(plan([tensor(0, 3, at=0), tensor(at=0, type=LONG), tensor(2, 0, type=BOOL)], [], [], [0, 1, 2], [0, 1, 2]))
    outputs = identity.execute((np.empty((0, 3), np.float32), np.array(7), np.empty((2, 0), bool)))
    assert [output.shape for output in outputs] == [(0, 3), (), (2, 0)] and outputs[1] == 7


def test_methods_of_a_program_are_independent():
    program = load(add_plan(), add_plan(name="other"))
    assert program.method_names == {"forward", "other"} and list(program.method_names) == ["forward", "other"]
    one, two = program.load_method("forward"), program.load_method("other")
    (first,) = one.execute((X, X), copy=False)
    two.execute((X, 5 * X))
    assert np.array_equal(first, 2 * X)
    assert message(program.load_method, "third") == "the program has no method 'third'; it has 'forward', 'other'"


def test_threads_share_a_program_with_a_method_each():
    program = load(add_plan())
    failures: list[int] = []

    def work(factor: int) -> None:
        own = program.load_method()
        for _ in range(50):
            if not np.array_equal(own.execute((X, factor * X))[0], (1 + factor) * X):
                failures.append(factor)

    threads = [threading.Thread(target=work, args=(factor,)) for factor in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_what_is_no_program_is_refused_in_one_line(tmp_path: Path):
    runtime = Runtime.get()
    empty, text = tmp_path / "empty.pte", tmp_path / "text.pte"
    empty.write_bytes(b"")
    text.write_text("no program at all, but a text of some length")
    assert message(runtime.load_program, tmp_path / "absent.pte").endswith("absent.pte: No such file or directory")
    assert message(runtime.load_program, empty).endswith("empty.pte: the file is empty, so it is not a program")
    assert 'text.pte: this is not a .pte file (44 bytes, no "ET12" at byte 4)' in message(runtime.load_program, text)
    assert "is a directory" in message(runtime.load_program, tmp_path).lower()
    for data in (b"", b"x" * 100):
        assert "not a .pte file" in message(runtime.load_program, data)
    truncated = stock("linear").read_bytes()[:-40]
    assert "truncated or damaged" in message(runtime.load_program, truncated)


def test_everything_that_is_missing_is_listed():
    names = [f"mine::operator{number}.out" for number in range(100)]
    instructions: list[pte.Instruction] = [call(number, 0, 1, 1) for number in range(100)]
    program = load(plan([tensor(2, at=0), tensor(2, at=16)], instructions, names, [0], [0]))
    expected = f"method 'forward' calls operators that this runtime does not have: {', '.join(names)}"
    assert message(program.load_method) == expected
    delegate = Runtime.get().load_program(stock("delegate"))
    assert delegate.metadata().backend_names == ("Test", "Test") and delegate.metadata().uses_backend("Test")
    assert "needs backend 'Test', which this runtime does not have" in message(delegate.load_method)
    own = plan([tensor(2, at=0)], [], [], [0], [0], delegates=(pte.BackendDelegate("Own", memoryview(b"payload")),))
    assert "needs backend 'Own'" in message(load(own).load_method)


def test_an_endless_loop_ends():
    values: list[pte.Value] = [pte.Bool(False)]
    program = load(plan(values, [pte.JumpFalseCall(0, 0)], [], [], []))
    assert message(program.load_method(instruction_limit=1000).execute) == "method 'forward' did not end within 1000 instructions"
    wrong: Any
    for wrong in (0, 2**32, 1.5, "10", None):
        with pytest.raises(ValueError, match=rf"an instruction limit is an integer between 1 and 4294967295, not {wrong!r}"):
            program.load_method(instruction_limit=wrong)


def test_a_seed_has_64_bits():
    method = load(plan([pte.Bool(False)], [], [], [], [])).load_method()
    for seed in (0, 2**64 - 1, np.uint64(2**63)):
        method.seed(cast(int, seed))
    wrong: Any
    for wrong in (-1, 2**64, 1.5, "1", None):
        with pytest.raises(ValueError, match=rf"a seed is an integer between 0 and 18446744073709551615, not {wrong!r}"):
            method.seed(wrong)


def test_a_method_is_named_by_a_string():
    program: Any = load(plan([pte.Bool(False)], [], [], [], []))
    for wrong in (3, None, "forward\0more"):
        assert message(lambda name=wrong: program.load_method(name)) == f"a method's name is a string, not {wrong!r}"


def test_more_memory_than_there_is_is_refused():
    program = load(plan([tensor(2, at=0)], [], [], [0], [0], arena=2**60))
    assert "plans 1152921504606847" in message(program.load_method)


def test_kernel_failures_name_method_instruction_and_operator_and_carry_the_values():
    values: list[pte.Value] = [tensor(2, 3, at=0), tensor(2, at=32), pte.Int(1), tensor(2, 3, at=64)]
    loaded = method(plan(values, [call(0, 0, 1, 2, 3, 3)], ["aten::add.out"], [0, 1], [3]))
    assert message(loaded.execute, (X, X[:, 0].copy())) == (
        "method 'forward', instruction 0, aten::add.out: the inputs' shapes do not broadcast to one: sizes 3 and 2; "
        "its arguments are float32[2, 3], float32[2], 1, float32[2, 3]"
    )


def test_kernel_failures_name_an_index_that_a_tensor_holds():
    values: list[pte.Value] = [tensor(2, 3, at=0), pte.Int(1), tensor(2, at=32, type=LONG), tensor(2, 2, at=64)]
    loaded = method(plan(values, [call(0, 0, 1, 2, 3, 3)], ["aten::index_select.out"], [0, 2], [3]))
    assert "index 7 is out of range for 3 entries; its arguments are float32[2, 3], 1, int64[2]" in message(
        loaded.execute, (X, np.array([0, 7]))
    )


def test_kernel_failures_show_values_of_every_kind():
    numbers = [1e-5, -2.5, 0.0, 1e10, float("nan"), -math.inf, 1 / 3]
    shown = ["1.0e-5", "-2.5", "0.0", "1.0e10", "nan", "-inf", "0.333333"]
    for number, text in zip(numbers, shown, strict=True):
        values: list[pte.Value] = [tensor(2, 3, at=0), pte.Double(number), pte.Bool(True), tensor(3, 3, at=64)]
        loaded = method(plan(values, [call(0, 0, 1, 2, 3, 3)], ["aten::threshold.out"], [0], [3]))
        assert message(loaded.execute, (X,)).endswith(
            "the result has a size of 2, where the program declares a fixed size of 3; "
            f"its arguments are float32[2, 3], {text}, True, float32[3, 3]"
        )
    others: list[pte.Value] = [tensor(2, 3, at=0), pte.IntList((2, 3)), pte.Int(0), pte.Int(-1), pte.Null(), pte.String("x")]
    for name, args, text in (
        ("aten::upsample_nearest2d.vec_out", (0, 1, 4, 6, 6), "[0, -1], None"),
        ("aten::gelu.out", (0, 5, 6, 6), "'x'"),
    ):
        loaded = method(plan([*others, tensor(2, 3, at=64)], [call(0, *args)], [name], [0], []))
        assert message(loaded.execute, (X,)).endswith(f"; its arguments are float32[2, 3], {text}, float32[2, 3]")


def test_named_data_are_views_of_the_program():
    blobs = (pte.NamedData("flambeau.json", memoryview(b'{"a": 1}')), pte.NamedData("other", memoryview(b"")))
    data = load(add_plan(), named_data=blobs).named_data
    assert bytes(data["flambeau.json"]) == b'{"a": 1}' and bytes(data["other"]) == b""
    assert data["flambeau.json"].readonly


def test_torch_tensors_go_in_and_outputs_go_to_torch():
    import torch

    loaded = method(add_plan())
    x = torch.arange(6.0).reshape(2, 3)
    parameter = torch.nn.Parameter(x.t().contiguous().t())
    (output,) = loaded.execute((x, parameter))
    assert torch.equal(torch.from_dlpack(output), x + x)
    halves = method(plan([tensor(4, type=pte.ScalarType.BFLOAT16)], [], [], [0], [0]))
    (output,) = halves.execute((torch.tensor([0.5, 1, 2, -4], dtype=torch.bfloat16),))
    assert output.dtype == ml_dtypes.bfloat16 and output.astype(np.float32).tolist() == [0.5, 1, 2, -4]
    assert "its memory cannot be shared" in message(loaded.execute, (x, x.to_sparse()))


def test_options_of_backends_are_checked_when_a_program_is_loaded():
    refused: list[tuple[Any, str]] = [
        ({"nonsense": {"a": 1}}, "there is no backend 'nonsense'; there are elementwise,"),
        ({"elementwize": {"a": 1}}, "there is no backend 'elementwize'; there are elementwise,"),
        ({"elementwise": {"a": 1}}, "backend 'elementwise' has no option 'a'; it has none"),
        ({"elementwise": 3}, "the options of backend 'elementwise' are a dict by name, not 3"),
        ({"elementwise": {}, "FlambeauElementwise": {}}, "backend_options has backend 'elementwise' twice, once as 'FlambeauElementwise'"),
        (3, "backend_options is a dict of dicts by the names of backends, not 3"),
    ]
    for given, expected in refused:
        assert message(Runtime.get().load_program, stock("add"), backend_options=given).startswith(expected)
