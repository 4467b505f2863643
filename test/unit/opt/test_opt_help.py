"""What flambeau-opt says about pipelines and passes, and the example of each pass."""

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module, verify_parsed
from flambeau.passes.delegation.partitioner import Partitioner
from flambeau.passes.manager import PassError, Pipeline
from flambeau.passes.manager.pass_options import option_fields
from flambeau.passes.manager.pipeline_options import PipelineOptions
from flambeau.passes.manager.registry import all_passes, find_pass, own_pass_file, own_pass_names, pipelines, register_pass
from flambeau.passes.targets.interface import target_names
from flambeau.support.tables import declared_by
from flambeau.tools.opt import help as pages
from flambeau.tools.opt import main
from flambeau.tools.opt.argument_parser import make_parser
from flambeau.tools.opt.help import example_of, field_descriptions, module_body, page, statistics_of

OURS = own_pass_names()


def our_pass(name: str) -> type[ModulePass]:
    kind = find_pass(name)
    assert kind is not None
    return kind


def run_example(text: str, pipeline: str, path: Path) -> str:
    context = FlambeauContext()
    context.blobs.open_beside(path)
    parsed = parse_module(text, context)
    verify_parsed(parsed)
    try:
        Pipeline.parse(pipeline).run(parsed.module, context)
    except PassError as error:
        return "\n".join(f"// {line}" for line in f"error: {error}".splitlines())
    return module_body(parsed.module).strip("\n")


@pytest.mark.parametrize("name", [name for name in OURS if example_of(our_pass(name)) is not None])
def test_the_example_of_a_pass_holds(name: str):
    example = example_of(our_pass(name))
    assert example is not None
    assert name in [item.name for item in Pipeline.parse(example.pipeline).passes()]
    assert run_example(example.before, example.pipeline, example.path) == example.after
    assert example.after != example.before


@pytest.mark.parametrize("target", target_names())
def test_every_pass_of_the_road_has_an_example(target: str):
    passes = pipelines()["compile"](PipelineOptions(target=target, backends=(Partitioner("elementwise"),)))
    assert {item.name for item in passes if example_of(type(item)) is None} == set()


def test_every_example_belongs_to_a_pass():
    for name in OURS:
        folder = Path(sys.modules[our_pass(name).__module__].__file__ or "").parent / "examples"
        assert {path.stem for path in folder.glob("*.mlir")} <= set(OURS)


@pytest.mark.parametrize("name", [*OURS, *sorted(pipelines())])
def test_help_shows_everything_about_a_pass(name: str):
    text = page(name)
    kind = find_pass(name)
    assert text.startswith(f"{name}\n\n  ")
    if kind is not None:
        for option in option_fields(kind):
            assert f"  {option.name}: " in text
            assert field_descriptions(kind)[option.field] in " ".join(text.split()), f"{option.name} has no docstring under it"
        assert ("becomes" in text) == (example_of(kind) is not None)


def test_help_of_every_pass_of_xdsl_prints():
    for name in all_passes():
        try:
            assert page(name).startswith(name)
        except ValueError as error:
            assert "cannot be loaded" in str(error)


@dataclass(frozen=True)
class BarePass(ModulePass):
    name = "bare-of-help"
    size: int
    words: tuple[str, ...] = ()
    where: ClassVar[str] = "nowhere"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        pass


@pytest.fixture
def bare() -> Iterator[None]:
    with declared_by("the test of help") as declared:
        register_pass(BarePass)
        yield
    for item in reversed(declared):
        item.undo()


@pytest.mark.usefixtures("bare")
def test_a_pass_that_says_nothing_about_itself_still_has_a_page():
    assert page("bare-of-help") == (
        "bare-of-help\n\n  It has no description.\n\nruns on the whole module\n\n"
        "options:\n  size: an integer, must be given\n  words: a list of strings, default none\n"
    )
    assert "passes of plug-ins:\n  bare-of-help\n" in pages.overview()
    assert "Passes of plug-ins:\n  bare-of-help\n" in pages.listing()


def test_statistics_are_found_in_the_source():
    assert statistics_of(our_pass("plan-memory")) == ["tensors placed", "bytes of arena"]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        status = main(arguments)
    except SystemExit as stop:
        status = stop.code if isinstance(stop.code, int) else 1
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_help_lists_every_pipeline_and_pass(capsys: pytest.CaptureFixture[str]):
    status, output, errors = run(capsys, "--help")
    assert (status, errors) == (0, "")
    for name in (*pipelines(), *OURS):
        assert f"\n  {name} " in output
    words = set(output.replace(",", " ").split())
    assert set(all_passes()) <= words


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ("--list-passes", "  plan-memory\n"),
        ("--show-dialects", "\nedge\n"),
        ("--list-targets", "executorch\n"),
        ("--list-backends", "elementwise: any CPU; reference\n"),
        ("--version", "xdsl 0.74.0\n"),
        ("-h", "usage: flambeau-opt"),
    ],
)
def test_what_there_is(capsys: pytest.CaptureFixture[str], option: str, expected: str):
    status, output, errors = run(capsys, option)
    assert (status, errors) == (0, "")
    assert expected in output


def test_help_for_what_does_not_exist(capsys: pytest.CaptureFixture[str]):
    status, output, errors = run(capsys, "--help-pass", "plan-memry")
    assert (status, output) == (2, "")
    assert "there is no pass or pipeline 'plan-memry'; did you mean 'plan-memory'?" in errors


def test_no_option_hides_a_pass():
    options = {option for action in make_parser()._actions for option in action.option_strings}  # argparse has no public list
    assert not options & {f"--{name}" for name in pages.every_name()}


def test_help_imports_no_pass():
    code = (
        "import sys\nfrom flambeau.tools.opt import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        "print('loaded:', *(n for n in sys.modules if n.startswith('flambeau.passes.')), file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    files = map(own_pass_file, OURS)
    assert not {f"flambeau.passes.{file.parent.name}.{file.stem}" for file in files} & set(loaded)


def test_a_misspelt_option_beside_a_pipeline_is_guessed(capsys: pytest.CaptureFixture[str]):
    status, _, errors = run(capsys, "-p", "cse", "--timming")
    assert status != 0
    assert "did you mean '--timing'?" in errors
