"""Errors as numbers: a runtime that was built with FLAMBEAU_MESSAGES=numbers tells the sentences of one that was not."""

import io
import os
import re
import struct
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from kernel_harness import using
from runtime_programs import write
from test_runtime_refusals import REFUSED

from flambeau.runtime import FlambeauError, Runtime, pte
from flambeau.runtime.messages import MESSAGES, sentence
from flambeau.runtime.pte.records import EMPTY
from flambeau.runtime.scalar_types import BY_NUMBER
from flambeau.tools.main import main

SOURCE = Path(__file__).parents[3] / "runtime" / "c"
CMAKE = Path(sysconfig.get_path("scripts")) / "cmake"
ROWS = (SOURCE / "include" / "flambeau" / "messages.def").read_text()
# What test/programs call.
KERNELS = (
    "aten::add.out;aten::addmm.out;aten::cat.out;aten::copy_;aten::max.dim_max;aten::mul.out;aten::permute_copy.out;aten::relu.out;"
    "aten::select_copy.int_out;aten::split_copy.Tensor_out;aten::split_with_sizes_copy.out;aten::sym_size.int;"
    "dim_order_ops::_to_dim_order_copy.out;executorch_prim::add.Scalar;executorch_prim::eq.Scalar;"
    "executorch_prim::et_copy_index.tensor;executorch_prim::sub.Scalar"
)


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """The folders of a runtime with sentences and one with numbers, and their C tests."""
    folder = tmp_path_factory.mktemp("builds")
    options = ["-DCMAKE_BUILD_TYPE=Debug", "-DFLAMBEAU_BACKENDS=", f"-DFLAMBEAU_KERNELS={KERNELS}"]
    targets = ["flambeau", "program_test", "method_test", "backend_test", "fuzz"]
    for kind in ("text", "numbers"):
        subprocess.run([CMAKE, "-S", SOURCE, "-B", folder / kind, f"-DFLAMBEAU_MESSAGES={kind}", *options], check=True, capture_output=True)
        subprocess.run([CMAKE, "--build", folder / kind, "-j", "2", "--target", *targets], check=True, capture_output=True)
    return folder / "text", folder / "numbers"


def told(command: list[str | Path]) -> list[bytes]:
    """The errors that a C test meets."""
    environment = os.environ | {"FLAMBEAU_TELL": "1"}
    return subprocess.run(command, check=True, capture_output=True, env=environment).stdout.splitlines()


@pytest.mark.parametrize("test", ["program_test", "method_test", "backend_test", "fuzz"])
def test_numbers_are_the_sentences_that_c_tests_meet(test: str, builds: tuple[Path, Path]) -> None:
    options = ["--count", "20000", "--keep", builds[0]] if test == "fuzz" else []
    texts, numbers = ([line for line in told([build / test, *options]) if b" seconds" not in line] for build in builds)
    assert [sentence(line) for line in numbers] == texts
    assert not any(line.startswith(b"#") for line in texts) and all(line.startswith(b"#") for line in numbers)
    if test == "fuzz":
        assert len({line[: line.find(b" ")] for line in numbers}) > 40


def accept(program: pte.Program) -> None:
    """Instead of the writer's check, which would refuse the programs of REFUSED."""


def refusals() -> list[str]:
    """What the runtime says of the programs that each have one wrong field."""
    said: list[str] = []
    for method, _, _ in REFUSED.values():
        with pytest.raises(FlambeauError) as caught:
            Runtime.get().load_program(write(method, constants=(EMPTY, memoryview(b"\0" * 24)))).load_method()
        said.append(str(caught.value))
    return said


def test_the_binding_tells_sentences_whatever_the_library_writes(builds: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("flambeau.runtime.pte.writer.check_program", accept)
    said: list[list[str]] = []
    for build in builds:
        with using(next(build.glob("libflambeau.[sd]*"))):
            said.append(refusals())
    assert said[0] == said[1]
    assert len(set(said[0])) > 35


def test_each_number_has_one_meaning() -> None:
    for kind in ("MESSAGE", "PHRASE"):
        numbers = [int(number) for number in re.findall(rf"^FL_(?:RESULT_)?{kind}\((\d+),", ROWS, re.MULTILINE)]
        assert len(numbers) == len({*numbers}) > 20 and max(numbers) < 256
    assert set(MESSAGES) == {int(number) for number in re.findall(r"^FL_(?:RESULT_)?MESSAGE\((\d+),", ROWS, re.MULTILINE)}


def real(x: float) -> bytes:
    return b"%d" % struct.unpack("<q", struct.pack("<d", x))


@pytest.mark.parametrize(
    ("numbers", "text"),
    [
        (b"#40", b"a pointer that has to be given is NULL"),
        (b"#41 3", b"the program has no method 3"),
        (b"#42 3:a b#5 1:c#4 2:#4", b"the program has no method 'a b'; it has 'c', '#4'"),
        (b"#28 8 64 30", b"the file is damaged: Tensor at byte 64: an offset leads out of the file"),
        (b"#114 1:f 0 1 9", b"method 'f', input 0: expected tensor, got tensor list"),
        (b"#114 1:f 0 1 77", b"method 'f', input 0: expected tensor, got unknown"),
        (b"#117 1:f 0 6 200", b"method 'f', input 0: expected float32, got unknown dtype"),
        (b"#140 1:f 2 4:a::b#12 8:50% of % 7 9", b"method 'f', instruction 2, a::b: 507 of 9"),
        (b"#140 1:f 2 4:a::b#12 8:50% of %", b"method 'f', instruction 2, a::b: 50% of %"),
        (b"#140 1:f 2 4:a::b#12 4:#155 7 9", b"method 'f', instruction 2, a::b: the result has 7 dimensions, where the program declares 9"),
        (b"#1 B6,2,3 B11 [E1E-2] [B6,2A] C3:x]y F1 G", b"float32[2, 3], bool[], [1, -2], [float32[2], None], 'x]y', True, bool list"),
        (b"#1 D" + real(0.1) + b" D" + real(-2.5e-7) + b" D" + real(float("-inf")), b"0.1, -2.5e-7, -inf"),
        (b"not numbers #41 3", b"not numbers #41 3"),
    ],
)
def test_numbers_as_sentences(numbers: bytes, text: bytes) -> None:
    assert sentence(numbers) == text


def test_what_was_cut_is_told_as_far_as_it_goes() -> None:
    assert sentence(b"#42 600:" + b"x" * 500 + b"...").endswith(b"xxx...")
    assert len(sentence(b"#42 511:" + b"x" * 511)) == 511
    assert sentence(b"#114 1:f 0 ") == b"method 'f', input 0: expected ..."
    assert sentence(b"#1 B6,2 D") == b"float32[2]..."


def test_a_device_tells_what_it_met_on_the_host(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["message", "#41 3"]) == 0
    assert capsys.readouterr().out == "the program has no method 3\n"
    log = io.TextIOWrapper(io.BytesIO(b"boot\r\n[12.5] E: #41 3\n"))
    monkeypatch.setattr(sys, "stdin", log)
    assert main(["message", "-"]) == 0
    assert capsys.readouterr().out == "boot\n[12.5] E: the program has no method 3\n"


def test_element_types_have_one_table() -> None:
    assert sentence(b"#1 " + b" ".join(b"B%d" % number for number in BY_NUMBER)) == b", ".join(
        b"%s[]" % row.name.encode() for row in BY_NUMBER.values()
    )
