"""Bundled programs: both ways with stock ExecuTorch, test cases that do not fit, damaged files, `flambeau run --bundled`."""

import json
import random
import re
import subprocess
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from executorch.devtools import BundledProgram as StockBundledProgram
from executorch.devtools.bundled_program.config import MethodTestCase as StockCase
from executorch.devtools.bundled_program.config import MethodTestSuite as StockSuite
from executorch.devtools.bundled_program.serialize import serialize_from_bundled_program_to_flatbuffer as stock_serialize
from executorch.exir import to_edge as stock_to_edge
from runtime_programs import add_plan, call, executable, plan, write
from torch import Tensor, nn

from flambeau import BundledProgram, MethodTestCase, MethodTestSuite, serialize_from_bundled_program_to_flatbuffer, to_edge
from flambeau.runtime import BundledModule, FlambeauError, Runtime, pte
from flambeau.runtime.bundled_program import BundleError, read_bundled_program, write_bundled_program
from flambeau.runtime.bundled_program.bundle_records import BundledMethodTestCase, BundledMethodTestSuite
from flambeau.runtime.bundled_program.bundle_records import BundledProgram as Bundle
from flambeau.tools.main import main
from flambeau.tools.opt.driver import main as opt

portable_lib: Any = import_module("executorch.extension.pybindings.portable_lib")
X = np.arange(6, dtype=np.float32).reshape(2, 3)


class Picture(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(3, 4, 3)

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return torch.relu(self.convolution(x)), y + 1


class Root(nn.Module):
    """Gives NaN for negative numbers."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.sqrt()


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))
        self.count: Tensor

    def forward(self, x: Tensor) -> Tensor:
        self.count.add_(1)
        return x + self.count


PICTURES = (torch.randn(1, 3, 8, 8).contiguous(memory_format=torch.channels_last), torch.arange(3))


def adding(path: Path, *suites: tuple[str, list[tuple[Any, Any]]]) -> Path:
    """A bundled program that adds two arrays, with test cases; by default one that is right and one that is wrong."""
    given = suites or (("forward", [((X, X), (X + X,)), ((X, X), (X + X + 0.5,))]),)
    cases = [MethodTestSuite(name, [MethodTestCase(*case) for case in cases]) for name, cases in given]
    program = path.with_suffix(".pte")
    program.write_bytes(write(add_plan()))
    BundledProgram(None, cases, pte_file_path=program).save(path)
    return path


def test_stock_executorch_verifies_what_we_write():
    model = Picture().eval()
    program = to_edge(torch.export.export(model, PICTURES)).to_executorch()
    right = MethodTestCase(inputs=PICTURES, expected_outputs=model(*PICTURES))
    wrong = MethodTestCase(inputs=PICTURES, expected_outputs=(model(*PICTURES)[0], PICTURES[1]))
    data = serialize_from_bundled_program_to_flatbuffer(BundledProgram(program, [MethodTestSuite("forward", [right, wrong])]))
    module = portable_lib._load_bundled_program_from_buffer(data)
    outputs = module.verify_result_with_bundled_expected_output("forward", 0, 1e-4, 1e-5)
    torch.testing.assert_close(tuple(outputs), model(*PICTURES))
    with pytest.raises(RuntimeError, match="verification failed"):
        module.verify_result_with_bundled_expected_output("forward", 1, 1e-4, 1e-5)
    first, second = BundledModule(data).verify(rtol=1e-4, atol=1e-5)
    assert first.passed and first.compared == 2
    assert second.failures == ("output 1: 3 of 3 elements differ",)


def test_we_verify_what_stock_executorch_writes():
    model = Picture().eval()
    inputs = (PICTURES[0].contiguous(), PICTURES[1])  # stock compares outputs of one layout only
    program = stock_to_edge(torch.export.export(model, inputs)).to_executorch()
    right = StockCase(inputs=inputs, expected_outputs=model(*inputs))
    wrong = StockCase(inputs=inputs, expected_outputs=(model(*inputs)[0] + 0.25, inputs[1] + 1))
    data = stock_serialize(StockBundledProgram(program, [StockSuite("forward", [right, wrong, StockCase(inputs=inputs)])]))
    module = BundledModule(data)
    results = module.verify(rtol=1e-4, atol=1e-5)
    assert [(result.case, result.compared, result.passed) for result in results] == [(0, 2, True), (1, 2, False), (2, 0, True)]
    assert results[1].difference == pytest.approx(0.25, abs=1e-4)
    (picture, numbers) = module.verify_result_with_bundled_expected_output("forward", 0, 1e-4, 1e-5)
    assert np.array_equal(numbers, [1, 2, 3]) and picture.shape == (1, 4, 6, 6)
    with pytest.raises(FlambeauError, match=r"^forward, case 1: failed: output 0: .* elements differ, max .* 2.5e-01$"):
        module.verify_result_with_bundled_expected_output("forward", 1, 1e-4, 1e-5)
    with pytest.raises(FlambeauError, match="case 2: it expects no outputs"):
        module.verify_result_with_bundled_expected_output("forward", 2)
    with pytest.raises(FlambeauError, match="has no test case 3; it has 3, counted from 0"):
        module.verify_result_with_bundled_expected_output("forward", 3)
    with pytest.raises(FlambeauError, match="no test cases for method 'forwards'; did you mean 'forward'"):
        module.verify_result_with_bundled_expected_output("forwards", 0)
    rewritten = write_bundled_program(module.bundle)
    again = portable_lib._load_bundled_program_from_buffer(rewritten)
    assert len(again.verify_result_with_bundled_expected_output("forward", 0, 1e-4, 1e-5)) == 2


def test_program_and_tensors_lie_at_the_alignment_of_the_format():
    data = serialize_from_bundled_program_to_flatbuffer(
        BundledProgram(None, [MethodTestSuite("forward", [MethodTestCase((X, X), X)])], pte_file_path=_written())
    )
    bundle = read_bundled_program(data)
    (case,) = bundle.method_test_suites[0].test_cases
    start = np.frombuffer(data, np.uint8).ctypes.data
    views: list[tuple[memoryview, int]] = [(bundle.program, 32)]
    views += [
        (value.data, 16) for value in (*case.inputs, *case.expected_outputs) if not isinstance(value, pte.Int | pte.Bool | pte.Double)
    ]
    assert len(views) == 4
    for view, alignment in views:
        assert (np.frombuffer(view, np.uint8).ctypes.data - start) % alignment == 0


def _written() -> Path:
    path = Path("add.pte")
    path.write_bytes(write(add_plan()))
    return path


@pytest.fixture(autouse=True)
def _in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_each_case_begins_with_the_first_values_of_state():
    model = Counter()
    program = to_edge(torch.export.export(model, (torch.zeros(1),))).to_executorch()
    cases = [MethodTestCase(torch.zeros(1), torch.ones(1)) for _ in range(2)]
    bundle = BundledProgram(program, [MethodTestSuite("forward", cases)])
    bundle.save("counter.bpte")
    assert all(result.passed for result in BundledModule("counter.bpte").verify())
    for engine in ("c", "numpy"):
        assert main(["run", "--bundled", "counter.bpte", "--engine", engine]) == 0


def test_numbers_are_inputs_and_outputs():
    values: list[pte.Value] = [pte.Int(0), pte.Int(0), pte.Int(0), pte.Double(1.5), pte.Bool(True)]
    data = write(plan(values, [call(0, 0, 1, 2)], ["executorch_prim::add.Scalar"], [0, 1, 3, 4], [2, 3, 4]))
    Path("numbers.pte").write_bytes(data)
    cases = [MethodTestCase([20, 22, 0.5, False], [sum_, 0.5, False]) for sum_ in (42, 43)]
    module = BundledModule(
        serialize_from_bundled_program_to_flatbuffer(BundledProgram(None, [MethodTestSuite("forward", cases)], "numbers.pte"))
    )
    assert [result.failures for result in module.verify()] == [(), ("output 0: 1 of 1 elements differ",)]


UNFIT: list[tuple[tuple[str, list[tuple[Any, Any]]], str]] = [
    (("forwart", []), r"the program has no method 'forwart'; did you mean 'forward'\?"),
    (("encode", []), r"the program has no method 'encode'; it has forward"),
    (("forward", [((X,), X)]), r"method 'forward', test case 0, inputs: the method has 2, the test case 1"),
    (("forward", [((X, X), (X, X))]), r"test case 0, expected outputs: the method has 1, the test case 2"),
    (("forward", [((X, X), X), ((X, 1), X)]), r"test case 1, input 1: expected a tensor, got an int"),
    (("forward", [((X, X.astype(np.int64)), X)]), r"test case 0, input 1: expected float32, got int64"),
    (("forward", [((X, X[0]), X)]), r"test case 0, input 1: expected 2 dimensions, got 1"),
    (("forward", [((X, X), X.T)]), r"test case 0, expected output 0: expected a shape of \[2, 3\], got \[3, 2\]"),
    (("forward", [((X, X.astype(str)), X)]), r"test case 0, input 1: tensors of <U32 cannot be in a program"),
]


@pytest.mark.parametrize(("suite", "message"), UNFIT)
def test_a_case_that_does_not_fit_is_refused(suite: tuple[str, list[tuple[Any, Any]]], message: str):
    with pytest.raises(BundleError, match=message):
        adding(Path("add.bpte"), suite)


def test_what_is_no_case_is_refused():
    with pytest.raises(TypeError, match="inputs of a MethodTestCase are tensors, ints, bools and floats, not NoneType"):
        MethodTestCase([None])
    with pytest.raises(BundleError, match="has one program: give executorch_program or pte_file_path"):
        BundledProgram(None, [])
    with pytest.raises(BundleError, match="there are two test suites for method 'forward'"):
        adding(Path("add.bpte"), ("forward", []), ("forward", []))


def test_the_command_says_for_each_case_whether_it_passed(capsys: pytest.CaptureFixture[str]):
    adding(Path("add.bpte"))
    for engine in ((), ("--engine", "numpy")):
        assert main(["run", "--bundled", "add.bpte", *engine]) == 1
        out, err = capsys.readouterr()
        assert out == (
            "forward, case 0: passed, 1 output, max |Δ| 0.0e+00\n"
            "forward, case 1: failed: output 0: 6 of 6 elements differ, max |Δ| 5.0e-01\n"
        )
        assert err == ""
    assert main(["run", "--bundled", "add.bpte", "--atol", "1", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert report["atol"] == 1 and [case["passed"] for case in report["cases"]] == [True, True]
    assert report["cases"][1]["difference"] == 0.5


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["absent.bpte"], "no such file: absent.bpte"),
        (["add.pte"], "add.pte: not a bundled program: a .pte program without test cases, bytes 4 to 7 are b'ET12', not b'BP08'"),
        (["add.bpte", "--method", "forwart"], "add.bpte has no test cases for method 'forwart'; did you mean 'forward'?"),
        (["add.bpte", "--input", "1"], "--bundled takes neither --input nor --output nor --repeat: the test cases have their inputs"),
    ],
)
def test_the_command_refuses_in_one_line(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]):
    adding(Path("add.bpte"))
    assert main(["run", "--bundled", *arguments]) == 1
    assert capsys.readouterr().err == f"error: {message}\n"


def test_a_bundle_of_a_newer_format_or_with_wrong_tensors_is_refused():
    def read(*inputs: Any, version: int = 0) -> None:
        suite = BundledMethodTestSuite("forward", (BundledMethodTestCase(inputs),))
        read_bundled_program(write_bundled_program(Bundle(version, (suite,))))

    tensor_of = import_module("flambeau.runtime.bundled_program.bundle_records").Tensor
    read(tensor_of(pte.ScalarType.FLOAT, (2,), memoryview(bytes(12)), (0,)))  # stock writes the whole storage of a view
    with pytest.raises(BundleError, match="format version 3; 2 is the newest"):
        read(version=3)
    with pytest.raises(BundleError, match="test case 0, input 0: the tensor takes 8 bytes, and has 4"):
        read(tensor_of(pte.ScalarType.FLOAT, (2,), memoryview(bytes(4)), (0,)))
    with pytest.raises(BundleError, match="negative size"):
        read(tensor_of(pte.ScalarType.FLOAT, (-2,), memoryview(bytes(4)), (0,)))
    with pytest.raises(BundleError, match=r"the dim order \[0, 0\] is not one of 2 dimensions"):
        read(tensor_of(pte.ScalarType.FLOAT, (1, 1), memoryview(bytes(4)), (0, 0)))
    with pytest.raises(BundleError, match="method 'forward', test case 0, input 0: tensors of QUINT2X4 cannot be read"):
        read(tensor_of(pte.ScalarType.QUINT2X4, (2,), memoryview(bytes(8)), (0,)))


def test_a_damaged_bundle_is_refused_in_one_line_or_still_runs(capsys: pytest.CaptureFixture[str]):
    data = adding(Path("add.bpte")).read_bytes()
    damages = [data[:length] for length in (0, 3, 7, 8, 12, 60, len(data) // 2, len(data) - 1)]
    generator = random.Random(0)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(generator.choice((1, 1, 3))):
            damaged[generator.randrange(len(data))] = generator.randrange(256)
        damages.append(bytes(damaged))
    refused = 0
    for number, damaged in enumerate(damages):
        Path("damaged.bpte").write_bytes(damaged)
        status = main(["run", "--bundled", "damaged.bpte", "--engine", "c"])
        out, error = capsys.readouterr()
        assert status in (0, 1) and "Traceback" not in error and "internal error" not in error, error
        assert error == "" or (error.startswith("error: ") and error.count("\n") == 1), error
        assert error or "forward" in out or number >= 8
        refused += error != ""
    assert refused > 50


def runner(*arguments: str) -> tuple[int, str, str]:
    """`flambeau-run --bundled`."""
    done = subprocess.run([executable(), "--bundled", *arguments], capture_output=True, text=True, errors="replace", check=False)
    return done.returncode, done.stdout, done.stderr


def test_the_runner_in_c_says_the_same():
    adding(Path("add.bpte"))
    assert runner("add.bpte") == (
        7,
        "forward, case 0: passed, 1 output, max |Δ| 0.0e+00\nforward, case 1: failed: output 0: 6 elements differ, max |Δ| 5.0e-01\n",
        "",
    )
    assert runner("add.bpte", "--atol", "1")[0] == 0
    assert runner("add.pte") == (3, "", 'flambeau-run: add.pte: it is not a bundled program: bytes 4 to 7 are not "BP08"\n')
    Path("cut.bpte").write_bytes(Path("add.bpte").read_bytes()[:400])
    code, _, err = runner("cut.bpte")
    assert code == 3 and re.search(r"cut.bpte: the bundled program is damaged or cut off: it refers to byte \d+ of 400\n", err)
    assert runner("add.bpte", "--method", "f")[2].endswith("the bundled program has no test cases for this method\n")
    assert runner("add.bpte", "--rtol", "-1") == (2, "", "flambeau-run: --rtol: expected a number of 0 or more\n")


def test_the_runner_in_c_takes_every_kind_of_value_and_of_layout():
    model = Picture().eval()
    program = to_edge(torch.export.export(model, PICTURES)).to_executorch()
    right = MethodTestCase(inputs=PICTURES, expected_outputs=model(*PICTURES))
    wrong = MethodTestCase(inputs=PICTURES, expected_outputs=(model(*PICTURES)[0], PICTURES[1]))
    BundledProgram(program, [MethodTestSuite("forward", [right, wrong, MethodTestCase(inputs=PICTURES)])]).save("pictures.bpte")
    code, out, _ = runner("pictures.bpte", "--rtol", "1e-4", "--atol", "1e-5")
    first, second, third = out.splitlines()
    assert code == 7 and first.startswith("forward, case 0: passed, 2 outputs")
    assert second == "forward, case 1: failed: output 1: 3 elements differ, max |Δ| 1.0e+00"
    assert third == "forward, case 2: ran; it expects no outputs"

    counting = to_edge(torch.export.export(Counter(), (torch.zeros(1),))).to_executorch()
    cases = [MethodTestCase(torch.zeros(1), torch.ones(1)) for _ in range(2)]
    BundledProgram(counting, [MethodTestSuite("forward", cases)]).save("counter.bpte")
    assert runner("counter.bpte")[0] == 0

    values: list[pte.Value] = [pte.Int(0), pte.Int(0), pte.Int(0), pte.Double(1.5), pte.Bool(True)]
    Path("numbers.pte").write_bytes(write(plan(values, [call(0, 0, 1, 2)], ["executorch_prim::add.Scalar"], [0, 1, 3, 4], [2, 3, 4])))
    cases = [MethodTestCase([20, 22, 0.5, False], [sum_, 0.5, False]) for sum_ in (42, 43)]
    BundledProgram(None, [MethodTestSuite("forward", cases)], "numbers.pte").save("numbers.bpte")
    assert [line.partition(": ")[2].split(",")[0] for line in runner("numbers.bpte")[1].splitlines()] == [
        "passed",
        "failed: output 0: 1 element differs",
    ]


def test_nan_is_as_expected_only_where_nan_is_expected():
    """This is the rule of stock ExecuTorch, of ours, and of the runner in C."""
    x = torch.tensor([-1.0, 4.0])
    program = to_edge(torch.export.export(Root(), (x,))).to_executorch()
    expected = (torch.tensor([torch.nan, 2.0]), torch.tensor([torch.nan, torch.nan]), torch.tensor([0.0, 2.0]))
    bundle = BundledProgram(program, [MethodTestSuite("forward", [MethodTestCase((x,), values) for values in expected])])
    bundle.save("root.bpte")
    data = Path("root.bpte").read_bytes()
    assert [result.passed for result in BundledModule(data).verify()] == [True, False, False]
    assert [": passed" in line for line in runner("root.bpte")[1].splitlines()] == [True, False, False]
    stock = portable_lib._load_bundled_program_from_buffer(data)
    stock.verify_result_with_bundled_expected_output("forward", 0, 1e-5, 1e-8)
    for case in (1, 2):
        with pytest.raises(RuntimeError, match="verification failed"):
            stock.verify_result_with_bundled_expected_output("forward", case, 1e-5, 1e-8)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64, torch.int8, torch.bool, torch.complex64])
def test_the_runner_in_c_compares_numbers_of_every_type(dtype: torch.dtype):
    class Same(nn.Module):
        def forward(self, x: Tensor) -> Tensor:
            return x.clone()

    x = torch.tensor([[0.0, 1.0], [1.0, 0.0]]).to(dtype)
    program = to_edge(torch.export.export(Same(), (x,))).to_executorch()
    cases = [MethodTestCase((x,), x), MethodTestCase((x,), x.flip(0))]
    BundledProgram(program, [MethodTestSuite("forward", cases)]).save("same.bpte")
    assert runner("same.bpte")[1].splitlines() == [
        "forward, case 0: passed, 1 output, max |Δ| 0.0e+00",
        "forward, case 1: failed: output 0: 4 elements differ, max |Δ| 1.0e+00",
    ]
    assert [result.difference for result in BundledModule("same.bpte").verify()] == [0, 1]


def test_the_runner_in_c_refuses_what_is_damaged_in_one_line():
    data = adding(Path("add.bpte")).read_bytes()
    generator = random.Random(1)
    refused = 0
    for number in range(300):
        damaged = bytearray(data)
        damaged[generator.randrange(len(data))] = generator.randrange(256)
        Path("damaged.bpte").write_bytes(damaged if number >= 20 else data[: number * len(data) // 20])
        code, _, error = runner("damaged.bpte")
        assert code in (0, 3, 4, 5, 6, 7) and error.count("\n") == (code not in (0, 7)), (number, code, error)
        assert number >= 20 or code == 3
        refused += code not in (0, 7)
    assert refused > 50


def test_whatever_takes_a_program_takes_that_in_a_bundled_program(capsys: pytest.CaptureFixture[str]):
    adding(Path("add.bpte"))
    bundle, program = Path("add.bpte").read_bytes(), Path("add.pte").read_bytes()
    assert bytes(memoryview(pte.program_in(bundle))) == program == pte.program_in(program)
    np.save("x.npy", X)
    for command in (
        *(["run", "--input", "x.npy", "--input", "x.npy"], ["run", "--engine", "numpy", "--input", "x.npy", "--input", "x.npy"]),
        *(["inspect"], ["profile"], ["size"], ["diff", "add.pte"], ["report", "-o", "page.html"]),
    ):
        said = dict[str, tuple[str, str]]()
        for file in ("add.pte", "add.bpte"):
            assert main([*command, file]) == 0, capsys.readouterr().err
            said[file] = capsys.readouterr()
        if command[0] in ("run", "size"):
            assert said["add.bpte"][0].replace(".bpte", ".pte") == said["add.pte"][0]
    assert opt(["add.bpte"]) == 0
    from_bundle = capsys.readouterr().out
    assert opt(["add.pte"]) == 0
    assert from_bundle.replace(".bpte", ".pte") == capsys.readouterr().out
    for given in ("add.bpte", Path("add.bpte"), bundle, bytearray(bundle), memoryview(bundle), BytesIO(bundle)):
        (y,) = Runtime.get().load_program(given).load_method("forward").execute([X, X])
        np.testing.assert_array_equal(y, X + X)
    done = subprocess.run([executable(), "add.bpte", "--input", "x.npy", "x.npy", "--output", "y.npy"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(np.load("y.npy"), X + X)


def test_a_damaged_bundled_program_is_refused_wherever_a_program_is_taken(capsys: pytest.CaptureFixture[str]):
    Path("cut.bpte").write_bytes(adding(Path("add.bpte")).read_bytes()[:400])
    assert main(["run", "add.bpte"]) == 1
    assert capsys.readouterr().err == "error: add.bpte: --input gives the inputs of its program; --bundled runs the bundled test cases\n"
    damaged = r"cut.bpte: the bundled program(, .*)? is (damaged|cut off).*"
    for command in ("run", "inspect", "profile", "size", "report"):
        assert main([command, "cut.bpte"]) == 1
        assert re.fullmatch(rf"error: {damaged}\n", capsys.readouterr().err)
    with pytest.raises(FlambeauError, match=damaged):
        Runtime.get().load_program("cut.bpte")
    done = subprocess.run([executable("flambeau-run-llm"), "add.bpte", "--prompt", "1"], capture_output=True, text=True)
    assert done.stderr == "flambeau-run-llm: add.bpte: this is a bundled program, a .bpte: give the .pte in it\n"
    with pytest.raises(pte.PteError, match=r"not a \.pte program but a bundled one, a \.bpte: give the program in it, "):
        pte.read_program(Path("add.bpte").read_bytes())
