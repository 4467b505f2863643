"""The harness that runs the code in documents, and that it can fail; the site; the manual, which speaks of every option."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from command_server import command_path
from documents import commands_of, documents_in, matches

from flambeau.passes.manager.registry import all_passes
from flambeau.tools.opt.argument_parser import make_parser
from flambeau.tools.opt.foreign_options import HINTS, NOTHING_TO_DO

ROOT = Path(__file__).resolve().parents[3]


def test_output_may_be_left_out_with_dots():
    assert matches("a\n...\nc\n", "a\nb\nb\nc")
    assert matches("took ... ms\n", "took 3.5 ms  \n")
    assert not matches("a\n...\nd\n", "a\nb\nc")
    assert not matches("a\n", "a\nb\n")


def test_lines_of_progress_are_not_the_output():
    assert matches("pass 2 of 3\n", "bisecting: running the whole pipeline\npass 2 of 3\n")
    assert not matches("pass 2 of 3\n", "bisecting is done\npass 2 of 3\n")


def test_commands_of_a_session():
    assert commands_of("$ one\nout\n$ two \\\n> three\n") == [("one", "out\n"), ("two \\\nthree", "")]
    with pytest.raises(ValueError, match="begins with"):
        commands_of("out\n")


GOOD = [
    "```python\nassert 1 + 1 == 2\n```",
    "```console\n$ echo hello\nhello\n```",
    "```console\n$ false # fails\n```",
    "```mlir\nbuiltin.module {}\n```",
    '```toml title="a/b.toml"\nx = 1\n```\n\n```console\n$ cat a/b.toml\nx = 1\n```',
    "```text\nanything\n```\n\n```python\npass\n```",
    "```python\nfrom flambeau import row\nfrom flambeau.dialects.schema.row import SchemaOp\n\n\n"
    "@row('page', 'page', 'one(Tensor x) -> Tensor')\nclass OneOp(SchemaOp):\n    infer = staticmethod(lambda x: x)\n```",
    # The row of the page before is forgotten.
    "```python\nfrom flambeau.dialects.schema.row_table import find_row\n\nassert find_row('page', 'one') is None\n```",
]
BAD = [
    "```python\nassert 1 + 1 == 3\n```",
    "```console\n$ echo hello\ngoodbye\n```",
    "```console\n$ false\n```",
    "```console\n$ true # fails\n```",
    "```mlir\nbuiltin.module {\n```",
]


def test_a_block_does_what_it_says(pytester: pytest.Pytester):
    pytester.makefile(".md", **{f"good_{index}": f"{block}\n" for index, block in enumerate(GOOD)})
    pytester.makefile(".md", **{f"bad_{index}": f"{block}\n" for index, block in enumerate(BAD)})
    folder = Path(documents_in.__code__.co_filename).parent
    pytester.makeconftest(
        f"import sys\nsys.path.insert(0, {str(folder)!r})\nfrom pathlib import Path\n"
        "from documents import documents_in\n"
        "pytest_collect_file = documents_in(Path(__file__).parent)\n"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=len(GOOD) + 1, failed=len(BAD))  # the session with a file has two blocks
    assert all(f"bad_{index}.md" in str(result.stdout) for index in range(len(BAD)))


def test_the_first_program_of_the_readme_runs(tmp_path: Path):
    section = (ROOT / "README.md").read_text().partition("## A first program")[2].partition("\n## ")[0]
    blocks: list[tuple[str, str]] = re.findall(r"```(python|sh)\n(.*?)```", section, re.DOTALL)
    assert [language for language, _ in blocks] == ["python", "python", "sh"]
    environment = os.environ | {"PATH": command_path()}
    python = "".join(text for language, text in blocks if language == "python")  # the blocks share their names
    for command in ([sys.executable, "-c", python], ["bash", "-ec", blocks[-1][1]]):
        subprocess.run(command, cwd=tmp_path, env=environment, check=True, capture_output=True)
    assert {"model.pte", "quantized.pte", "model.html"} <= {path.name for path in tmp_path.iterdir()}


def test_the_page_of_the_c_interface_names_what_the_headers_declare():
    headers = "".join(path.read_text() for path in (ROOT / "runtime/c/include/flambeau").glob("*.h"))
    named = set(re.findall(r"\bfl_\w+", (ROOT / "docs/guide/c_api.md").read_text()))
    assert {"fl_program_load", "fl_method_set_hook"} <= named
    assert named <= set(re.findall(r"\bfl_\w+", headers))


def build_site(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--config-file", folder / "mkdocs.yml"]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    return subprocess.run(
        [*command, "--site-dir", folder / "site"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )


def test_the_site_builds_and_a_broken_link_fails_it(tmp_path: Path):
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    built = build_site(tmp_path)
    assert built.returncode == 0, built.stdout
    page = (tmp_path / "site" / "reference" / "aten.html").read_text()
    assert "<table>" in page
    kit = (tmp_path / "site" / "reference" / "kit.html").read_text()
    assert "<code>solutions(" in kit and "* <code>" not in kit, "lists stay lists around code"
    elsewhere = re.findall(r'<(?:script|link)[^>]*(?:src|href)="(?:https?:)?//[^"]*"', page)
    assert not elsewhere, "the site works from a folder"
    with (tmp_path / "docs" / "index.md").open("a") as home:
        home.write("\n[gone](guide/gone.md), [nowhere](guide/opt.md#nowhere)\n")
    built = build_site(tmp_path)
    assert built.returncode == 1
    assert "guide/gone.md" in built.stdout and "#nowhere" in built.stdout


def test_the_manual_of_flambeau_opt_speaks_of_every_option_and_of_no_other():
    manual = (ROOT / "docs" / "guide" / "opt.md").read_text()
    known = {option for action in make_parser()._actions for option in action.option_strings}
    mentioned = set(re.findall(r"(?<![\w-])--?[a-z][\w-]*", re.sub(r"```.*?```", "", manual, flags=re.DOTALL)))
    assert known - mentioned == {"-h"}
    rows = [
        line.strip("| ").split(" | ") for line in manual.partition("| mlir-opt | flambeau-opt |")[2].splitlines() if line.startswith("| `")
    ]
    theirs = {option for row in rows for option in re.findall(r"--[a-z][\w-]*", row[0])}
    understood = theirs & ({*make_parser()._option_string_actions} | {f"--{name}" for name in NOTHING_TO_DO})
    hinted = {option for option in theirs if option[2:] in HINTS}
    named = {f"--{name}" for name in all_passes()}
    assert theirs - understood - hinted - named == {"--my-pass"} and not understood & hinted
    passes = {"--my-pass"} | {"-cse", "-plan-memory", "-pcse", "-split-input-file"}
    assert mentioned - known - passes - named - theirs == set(), "options that flambeau-opt does not have"
