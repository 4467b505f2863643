"""The scripts in findings/: their form, the table in their README, and what the runner says of each exit status."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "findings"
SCRIPTS = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.sh")) if path.name != "common.sh"}
FORM = re.compile(
    r"""\#!/usr/bin/env\ bash\n
    \#\ (?P<title>\S.*[^.\n])\n
    \#\n
    (?P<explanation>(?:\#\ .+\n)+)
    \#\n
    \#\ Expected:\ [^\n]*\n?(?:\#\ .+\n)*?\#\ Seen:\ .+\n
    (?:\#\ .+\n)*
    \.\ "\$\(dirname\ "\$0"\)/common\.sh"\n
    use(?P<packages>(?:\ \S+==\d[\w.]*)+)\n
    \n
    observe\ <<'PYTHON'\n
    (?P<program>(?:.*\n)+)
    PYTHON\n""",
    re.VERBOSE,
)


def test_there_are_findings():
    assert len(SCRIPTS) >= 6


def test_scripts_have_the_form():
    assert [name for name, text in SCRIPTS.items() if not FORM.fullmatch(text)] == []
    assert [name for name in SCRIPTS if not os.access(FOLDER / f"{name}.sh", os.X_OK)] == []
    assert {name: lines for name, text in SCRIPTS.items() if (lines := text.count("\n")) > 80} == {}


def test_what_is_expected_has_a_page_that_says_so():
    expected = {name: text.partition("# Expected: ")[2].partition("# Seen: ")[0] for name, text in SCRIPTS.items()}
    assert [name for name, text in expected.items() if "https://" not in text] == []


def test_scripts_do_not_use_flambeau():
    assert [name for name, text in SCRIPTS.items() if "flambeau" in text.lower()] == []


def test_programs_say_what_they_expect_and_see_and_what_changed():
    for name, text in SCRIPTS.items():
        for words in ("expected", "seen", "changed: "):
            assert words in text.partition("<<'PYTHON'\n")[2], f"{name}: {words}"


def test_the_table_has_each_script_by_its_title():
    table = dict(re.findall(r"^\| \[`\w+`\]\((\w+)\.sh\) \| (.+) \|$", (FOLDER / "README.md").read_text(), re.MULTILINE))
    assert table == {name: text.splitlines()[1].removeprefix("# ") for name, text in SCRIPTS.items()}


def test_the_runner_fails_when_one_has_changed(tmp_path: Path):
    shutil.copy(FOLDER / "run.py", tmp_path)
    scripts = {"common": "exit 9", "same": "echo 'packages: tool 1.0'", "other": "echo 'changed: 2'; exit 1", "absent": "exit 3"}
    for name, text in scripts.items():
        path = tmp_path / f"{name}.sh"
        path.write_text(f"#!/usr/bin/env bash\n{text}\n")
        path.chmod(0o755)

    def run() -> tuple[int, list[list[str]]]:
        done = subprocess.run([sys.executable, tmp_path / "run.py"], capture_output=True, text=True, check=False)
        return done.returncode, [line.split() for line in done.stdout.splitlines()]

    code, lines = run()
    assert code == 1
    assert [line[:3] for line in lines[1:4]] == [["absent", "not", "installed"], ["other", "changed", "0"], ["same", "as", "described"]]
    assert lines[3][-2:] == ["tool", "1.0"]
    assert lines[-1] == ["changed:", "2"]
    for name in ("other", "absent"):
        (tmp_path / f"{name}.sh").unlink()
    assert run()[0] == 0
