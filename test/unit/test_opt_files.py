"""What flambeau-opt writes: nothing that was there before is lost by it, and what it says it wrote is there."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load, save

from flambeau.dialects.registry import FlambeauContext
from flambeau.dialects.text import parse_module, read_module, save_weights
from flambeau.tools.main import main as flambeau
from flambeau.tools.opt import main

Run = Callable[..., tuple[int, str, str]]


def network(path: Path, *values: float, key: str = "w") -> str:
    """Writes a module with a weight, and the weight beside it."""
    context = FlambeauContext()
    array = np.array(values, np.float32)
    kind = f"tensor<{len(values)}xf32>"
    blob = context.blobs.add(key, array.data)
    text = f"""ml_program.global private @w({blob}) : {kind}
func.func @f(%x: {kind}) -> {kind} {{
  %0 = ml_program.global_load_const @w : {kind}
  %1 = core.neg(%0) : ({kind}) -> {kind}
  %2 = core.add.Tensor(%x, %1) : ({kind}, {kind}) -> {kind}
  func.return %2 : {kind}
}}
"""
    path.write_text(text)
    save_weights(parse_module(text, context).module, context.blobs, path.with_suffix(".safetensors"))
    return text


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Runs the tool in a folder with `net.mlir`; gives status, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    network(Path("net.mlir"), 1.0, 2.0)

    def run(*arguments: str) -> tuple[int, str, str]:
        try:
            status = main([*arguments])
        except SystemExit as end:
            assert isinstance(end.code, int)
            status = end.code
        out, err = capsys.readouterr()
        return status, out, err

    return run


def files() -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}


def holds_its_weights(name: str) -> bool:
    """Whether the weights of a module are found from its name."""
    context = FlambeauContext()
    context.blobs.open_beside(name)
    parsed = read_module(name, context)
    return all(context.blobs.holds(op.value) for op in parsed.module.body.block.ops if op.name == "ml_program.global")  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]  its name says what it is


@pytest.mark.parametrize("output", ["net.out", "net.reduced", "m.txt", "sub.net.txt", "out.mlir", "other"])
def test_the_weights_of_the_input_stay(run: Run, output: str) -> None:
    before = files()
    assert run("net.mlir", "-p", "fold-constants", "-o", output)[0] == 0
    assert before.items() <= files().items()
    assert holds_its_weights("net.mlir") and holds_its_weights(output)


@pytest.mark.parametrize("option", ["-o", "--generate-reproducer", "--crash-reproducer"])
def test_a_name_that_shares_the_weights_is_refused(run: Run, option: str) -> None:
    before = files()
    status, _, err = run("net.mlir", "-p", "fold-constants", option, "net")
    assert status != 0 and "net.safetensors holds the weights of net.mlir" in err
    assert files() == before
    Path("b.mlir").write_bytes(Path("net.mlir").read_bytes())
    Path("b.safetensors").write_bytes(Path("net.safetensors").read_bytes())
    before = files()
    status, _, err = run("b.mlir", "-p", "fold-constants", option, "net")
    assert status != 0 and "net.safetensors holds the weights of net.mlir" in err
    assert files() == before


def test_a_link_to_the_weights_is_not_followed_to_their_end(run: Run) -> None:
    Path("out.safetensors").symlink_to("net.safetensors")
    before = files()
    status, _, err = run("net.mlir", "-p", "fold-constants", "-o", "out.mlir")
    assert status == 1 and "out.safetensors holds the weights of net.mlir" in err
    assert files() == before


def test_in_place_the_weights_are_replaced(run: Run) -> None:
    assert run("net.mlir", "-p", "fold-constants,canonicalize,dce", "-o", "net.mlir")[0] == 0
    assert "core.neg" not in Path("net.mlir").read_text()
    assert holds_its_weights("net.mlir")
    assert [-1.0, -2.0] in [array.tolist() for array in load(Path("net.safetensors").read_bytes()).values()]


@pytest.mark.parametrize("option", ["-o", "--generate-reproducer", "--crash-reproducer"])
def test_a_text_is_not_called_as_weights_are(run: Run, option: str) -> None:
    before = files()
    status, _, err = run("net.mlir", option, "y.safetensors")
    assert (status, files()) == (2, before)
    assert "y.safetensors is where the weights go: name the IR y.mlir" in err


@pytest.mark.parametrize("option", ["-o", "--generate-reproducer"])
def test_beside_a_device_there_are_no_weights(run: Run, option: str) -> None:
    Path("null").symlink_to("/dev/null")
    assert run("net.mlir", option, "null")[0] == 0
    assert not Path("null.safetensors").exists()


def test_the_weights_of_all_parts_are_saved(run: Run) -> None:
    first, second = network(Path("a.mlir"), 1.0, key="a"), network(Path("b.mlir"), 2.0, key="b")
    both = load(Path("a.safetensors").read_bytes()) | load(Path("b.safetensors").read_bytes())
    Path("both.safetensors").write_bytes(save(both))
    Path("both.mlir").write_text(f"{first}// -----\n{second}")
    assert run("both.mlir", "--split-input-file", "-o", "out.mlir")[0] == 0
    assert load(Path("out.safetensors").read_bytes()).keys() == {"a", "b"}
    before = files()
    Path("both.mlir").write_text(f"{first}// -----\n{second}// -----\n$\n")
    before["both.mlir"] = Path("both.mlir").read_bytes()
    assert run("both.mlir", "--split-input-file", "-o", "new.mlir")[0] == 1
    assert files() == before


def test_different_weights_of_one_name_cannot_be_saved(run: Run) -> None:
    for folder, value in (("weights", 1.0), ("other", 2.0)):
        Path(folder).mkdir()
        network(Path(folder, f"{folder}.mlir"), value)
    Path("other/other.safetensors").rename("weights/second.safetensors")
    Path("both.mlir").write_text(f"{Path('weights/weights.mlir').read_text()}// -----\n{Path('other/other.mlir').read_text()}")
    before = files()
    status, _, err = run("both.mlir", "--split-input-file", "-o", "out.mlir")
    assert status == 1 and "two different weights are both called 'w'" in err
    assert files() == before


def test_text_and_weights_are_written_both_or_none(run: Run) -> None:
    Path("out.safetensors").mkdir()
    before = files()
    status, _, err = run("net.mlir", "-o", "out.mlir")
    assert status == 1 and "out.safetensors" in err
    assert files() == before


@pytest.mark.parametrize("command", ["compile", "reduce"])
def test_flambeau_does_not_take_the_weights_of_its_input_either(run: Run, capsys: pytest.CaptureFixture[str], command: str) -> None:
    before = files()
    if command == "compile":
        assert flambeau(["compile", "net.mlir", "--emit", "mlir", "--to", "edge", "-o", "net"]) == 1
        assert "net.safetensors holds the weights of net.mlir" in capsys.readouterr().err
        assert files() == before
    else:
        assert flambeau(["reduce", "net.mlir", "-o", "net"]) == 1
        assert files() == before
