"""The command-line runner of the C runtime."""

import json
import os
import subprocess
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from runtime_programs import add_plan, call, executable, plan, stock, tensor, write

from flambeau.runtime import pte

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def run(*arguments: object, folder: Path | None = None) -> tuple[int, str, str]:
    command = [str(executable()), *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False, env={**os.environ, "LC_ALL": "C"})
    return result.returncode, result.stdout, result.stderr


def saved(folder: Path, name: str, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> Path:
    np.save(folder / name, array)
    return folder / f"{name}.npy"


def test_arrays_go_in_and_out(tmp_path: Path):
    x = saved(tmp_path, "x", X)
    y = saved(tmp_path, "y", np.asfortranarray(2 * X))
    out = tmp_path / "out.npy"
    code, output, errors = run(stock("add"), "--input", x, y, "--output", out, "--repeat", 3)
    assert (code, output) == (0, "")
    assert errors.startswith("forward: 3 runs, min ") and errors.count("\n") == 1
    assert np.array_equal(np.load(out), 3 * X)


def test_several_outputs_get_a_prefix_or_a_path_each(tmp_path: Path):
    x, y = saved(tmp_path, "x", X), saved(tmp_path, "y", X)
    assert run(stock("lists"), "--input", x, y, "--output", "out", folder=tmp_path)[0] == 0
    assert sorted(np.load(tmp_path / f"out{index}.npy").shape for index in range(3)) == [(2,), (2,), (2, 3)]
    assert run(stock("lists"), "--input", x, y, "--output", "a.npy", "b.npy", "c.npy", folder=tmp_path)[0] == 0
    assert np.array_equal(np.load(tmp_path / "a.npy"), np.load(tmp_path / "out0.npy"))
    code, _, errors = run(stock("lists"), "--input", x, y, "--output", "a.npy", "b.npy", folder=tmp_path)
    assert (code, errors) == (2, "flambeau-run: --output: method 'forward' has 3 outputs, 2 paths were given\n")


def test_json_says_what_was_run(tmp_path: Path):
    x = saved(tmp_path, "x", X)
    code, output, _ = run(stock("add"), "--input", x, "--input", x, "--json")
    report = json.loads(output)
    assert code == 0 and report["method"] == "forward" and report["runs"] == 1
    assert report["outputs"] == [{"dtype": 6, "sizes": [2, 3]}]
    assert report["memory"]["method"] > 0 and set(report["latency_ms"]) == {"min", "median", "mean", "max"}


def test_a_profile_has_a_line_for_each_instruction_with_its_place(tmp_path: Path):
    x = tmp_path / "x.npy"
    np.save(x, np.ones(2, np.float32))
    code, _, errors = run(stock("located"), "--input", x, "--repeat", 2, "--profile")
    assert code == 0
    assert errors.splitlines()[1].endswith(" ms      2 x  0 aten::add.out  layers.0 (model.py:12), head, other.py:3")


def test_scalars_are_numbers_on_the_command_line(tmp_path: Path):
    values: list[pte.Value] = [pte.Int(3), pte.Double(0.5), pte.Bool(True), pte.String("x")]
    program = tmp_path / "scalars.pte"
    program.write_bytes(write(plan(values, [], [], [0, 1, 2, 3], [0, 1, 2])))
    code, output, _ = run(program, "--input", "-7", "2.5", "false", "x")
    assert (code, output) == (0, "output 0: -7\noutput 1: 2.5\noutput 2: false\n")
    code, _, errors = run(program, "--input", "7", "2.5", "maybe", "x")
    assert (code, errors) == (5, "flambeau-run: maybe: the program takes a number, true or false here\n")


@pytest.mark.parametrize("name", ["uint8", "int16", "int64", "float16", "float64", "bool", "bfloat16"])
def test_dtypes_and_layouts_survive(name: str, tmp_path: Path):
    types = {"uint8": 0, "int16": 2, "int64": 4, "float16": 5, "float64": 7, "bool": 11, "bfloat16": 15}
    dtype = np.dtype(ml_dtypes.bfloat16 if name == "bfloat16" else name)
    x = (np.arange(24) % 5).astype(dtype).reshape(2, 3, 4)
    program = tmp_path / "identity.pte"
    program.write_bytes(write(plan([tensor(2, 3, 4, at=0, type=pte.ScalarType(types[name]), dim_order=(0, 2, 1))], [], [], [0], [0])))
    assert run(program, "--input", saved(tmp_path, "x", x), "--output", tmp_path / "out.npy")[0] == 0
    assert np.array_equal(np.load(tmp_path / "out.npy").view(dtype), x)


def test_bad_command_lines_are_one_line(tmp_path: Path):
    x = saved(tmp_path, "x", X)
    program = tmp_path / "add.pte"
    program.write_bytes(write(add_plan()))
    damaged = tmp_path / "damaged.pte"
    damaged.write_bytes(stock("linear").read_bytes()[:900])
    text = tmp_path / "text.npy"
    text.write_text("no array, but a text")
    cut = tmp_path / "cut.npy"
    cut.write_bytes(x.read_bytes()[:-1])
    strings = saved(tmp_path, "strings", np.array(["a"]))
    cases: list[tuple[int, str, tuple[object, ...]]] = [
        (2, "which program?", ()),
        (2, "--what: unknown option", (program, "--what")),
        (2, "--repeat: expected a positive number", (program, "--repeat", "0")),
        (2, "only one program can be run", (program, program)),
        (3, "absent.pte: No such file or directory", (tmp_path / "absent.pte",)),
        (4, "x.npy: this is not a .pte file", (x,)),
        (4, "truncated or damaged", (damaged,)),
        (4, "no method 'backward'; it has 'forward'", (program, "--method", "backward")),
        (5, "takes 2 inputs, got 1", (program, "--input", x)),
        (3, "absent.npy: No such file or directory", (program, "--input", x, tmp_path / "absent.npy")),
        (3, "text.npy: it is not a .npy file", (program, "--input", x, text)),
        (3, "cut.npy: it is truncated", (program, "--input", x, cut)),
        (3, "its dtype is not one that a program can take", (program, "--input", x, strings)),
        (5, "expected float32, got int64", (program, "--input", x, saved(tmp_path, "ints", X.astype(np.int64)))),
        (5, "dimension 1 is 4, and must be 3", (program, "--input", x, saved(tmp_path, "wide", np.zeros((2, 4), np.float32)))),
        (2, "x.npy: refusing to overwrite an input: name another file with --output", (program, "--input", x, x, "--output", x)),
        (2, "refusing to overwrite an input", (program, "--input", x, x, "--output", program)),
        (3, "absent/out.npy: No such file or directory", (program, "--input", x, x, "--output", tmp_path / "absent" / "out.npy")),
    ]
    for expected, text_part, arguments in cases:
        code, output, errors = run(*arguments)
        assert (code, output, errors.count("\n")) == (expected, "", 1), (arguments, code, errors)
        assert errors.startswith("flambeau-run: ") and text_part in errors


def test_every_missing_operator_is_listed(tmp_path: Path):
    names = [f"mine::operator{number}.out" for number in range(100)]
    program = tmp_path / "missing.pte"
    instructions: list[pte.Instruction] = [call(number, 0, 1, 1) for number in range(100)]
    program.write_bytes(write(plan([tensor(2, at=0), tensor(2, at=16)], instructions, names, [0], [0])))
    code, _, errors = run(program)
    assert code == 4 and errors.count("\n") == 1 and errors.endswith(f"does not have: {', '.join(names)}\n")


def test_failed_runs_and_endless_loops_say_so(tmp_path: Path):
    program = tmp_path / "endless.pte"
    program.write_bytes(write(plan([pte.Bool(False)], [pte.JumpFalseCall(0, 0)], [], [], [])))
    code, _, errors = run(program, "--limit", 50)
    assert (code, errors) == (6, f"flambeau-run: {program}: method 'forward' did not end within 50 instructions\n")


def test_help_lists_options_and_exit_codes():
    code, output, errors = run("--help")
    assert code == 0 and errors == ""
    assert all(word in output for word in ("--method", "--input", "--output", "--repeat", "--json", "--limit", "exit codes"))


@pytest.mark.parametrize(
    ("options", "error"),
    [
        (["--temperature", "-1"], "--temperature takes a number from 0 to 1000000, not -1"),
        (["--top-p", "1.5"], "--top-p takes a number from 0 to 1, not 1.5"),
        (["--top-k", "2.5"], "--top-k takes a whole number from 1 to 1000000000, not 2.5"),
        (["--tokens"], "--tokens takes a whole number from 1 to 1000000000, not nothing"),
        (["--prompt", "x"], "x: a token id of --prompt is a whole number from 0 to 2147483647"),
        (["--heat", "1"], "--heat: there is no such option; --help lists all"),
        ([], "there is no --prompt: flambeau-run-llm PROGRAM.pte --prompt ID ..."),
    ],
)
def test_options_of_the_runner_of_language_models_say_their_ranges(options: list[str], error: str):
    found = subprocess.run([executable("flambeau-run-llm"), "model.pte", *options], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (2, f"flambeau-run-llm: {error}\n")
