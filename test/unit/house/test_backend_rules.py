"""The rules for the folders of backends, each of which a folder that breaks it is told."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from backend_rules import (
    RULES,
    declares_its_packages,
    declares_itself_alone,
    declares_what_its_tests_import,
    explains_itself,
    has_one_flag,
    stays_in_its_folder,
)

from flambeau.tools.conformance.readme_check import SECTIONS

ROOT = Path(__file__).resolve().parents[3]
FOLDERS = sorted(path for path in (ROOT / "backends").iterdir() if path.is_dir() and not path.name.startswith("__"))


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_backend_keeps_the_rules(folder: Path, rule: Callable[[Path], list[str]]):
    assert rule(folder) == []


SECTION = {
    "Operators": "[A table](../../docs/reference/backends/novel.md).",
    "Install": "```sh\npip install '.[novel]'\n```\n`-DFLAMBEAU_BACKEND_NOVEL=OFF` leaves it out.",
    "Dependencies": "| | why | licence | to upgrade | to mind |\n|-|-|-|-|-|\n| `novel-sdk` | it runs | MIT | raise it | 9 GB |\n",
}


def readme(**sections: str) -> str:
    texts = {title: "Text." for title in SECTIONS} | SECTION | sections
    return "".join(f"## {title}\n\n{text}\n\n" for title, text in texts.items())


PROJECT = """\
[project]
dependencies = ["numpy>=2,<3"]
[project.optional-dependencies]
novel = [{group}]
peer = [{peer}]
"""
GOOD = {
    "pyproject.toml": PROJECT.format(group='"novel-sdk>=1.2,<2"', peer=""),
    "backends/novel/__init__.py": "from dataclasses import dataclass\n\nBACKEND = Backend(description=Description())\n",
    "backends/novel/compile.py": "import numpy\n\n\ndef encode():\n    import novel_sdk\n",
    "backends/novel/README.md": readme(),
    "backends/novel/runtime/novel.c": "const fl_backend fl_backend_novel = {0};\n",
    "backends/novel/test/test_novel.py": "import pytest_helper\n",
    "test/pytest_helper.py": "",
    "runtime/c/CMakeLists.txt": "project(tree C)\n",
}
"""A tree with a backend that keeps the rules, as the text of each file."""

NO_ROW = {"Dependencies": SECTION["Dependencies"].replace("novel-sdk", "other")}
NO_WORDS = {"Dependencies": SECTION["Dependencies"].replace("raise it", "")}
OTHER_TOOL = {"Install": SECTION["Install"].replace("pip install", "apt install novel\npip install")}
BAD: list[tuple[Callable[[Path], list[str]], Mapping[str, str | None], str]] = [
    (stays_in_its_folder, {"passes/lower.py": "from flambeau.backends.novel import x\n"}, "passes/lower.py names it"),
    (stays_in_its_folder, {"passes/lower.py": "if backend == 'novel':\n    pass\n"}, "passes/lower.py names it"),
    (stays_in_its_folder, {"runtime/c/CMakeLists.txt": "option(FLAMBEAU_BACKEND_NOVEL)\n"}, "runtime/c/CMakeLists.txt names it"),
    (stays_in_its_folder, {"runtime/c/core/load.c": "&fl_backend_novel;\n"}, "runtime/c/core/load.c names it"),
    (stays_in_its_folder, {"backends/other/lower.py": "import flambeau.backends.novel\n"}, "backends/other/lower.py names it"),
    (stays_in_its_folder, {"test/unit/test_novel_more.py": ""}, "test/unit/test_novel_more.py belongs into its folder"),
    (has_one_flag, {"backends/novel/adapter.c": ""}, "adapter.c is not in runtime/, which its flag builds"),
    (has_one_flag, {"backends/novel/runtime/novel.c": "int x;\n"}, "runtime/novel.c does not define fl_backend_novel"),
    (
        has_one_flag,
        {"backends/novel/README.md": readme(Install="pip.")},
        "README.md, Install: it does not say -DFLAMBEAU_BACKEND_NOVEL=OFF",
    ),
    (
        declares_its_packages,
        {"pyproject.toml": PROJECT.format(group="", peer="")},
        "it imports novel_sdk, which is not in its group 'novel' of pyproject.toml",
    ),
    (
        declares_its_packages,
        {"pyproject.toml": PROJECT.format(group='"novel-sdk>=1.2"', peer="")},
        "pyproject.toml: 'novel-sdk>=1.2' of its group has no range of versions",
    ),
    (
        declares_its_packages,
        {"pyproject.toml": PROJECT.format(group='"novel-sdk==1.2", "numpy>=2,<3"', peer="")},
        "pyproject.toml: numpy is installed with Flambeau",
    ),
    (
        declares_its_packages,
        {"pyproject.toml": PROJECT.format(group='"novel-sdk==1.2"', peer='"novel_sdk==1.2"')},
        "pyproject.toml: novel-sdk is in the group 'peer' too",
    ),
    (
        declares_its_packages,
        {"pyproject.toml": PROJECT.format(group='"novel-sdk==1.2", "pytest==9"', peer="")},
        "pyproject.toml: only its tests need pytest, which belongs into the group 'novel-test'",
    ),
    (declares_its_packages, {"passes/lower.py": "import novel_sdk\n"}, "passes/lower.py imports novel_sdk"),
    (
        declares_what_its_tests_import,
        {"backends/novel/test/test_novel.py": "import pytest\n"},
        "its tests import pytest, which is in no group of pyproject.toml",
    ),
    (explains_itself, {"backends/novel/README.md": None}, "there is no README.md in novel"),
    (explains_itself, {"backends/novel/README.md": readme(Debug="")}, f"README.md has nothing under '## Debug': {SECTIONS['Debug']}"),
    (
        explains_itself,
        {"backends/novel/README.md": readme(Operators="All.")},
        "README.md, Operators: no link to docs/reference/backends/novel.md, which is written from its table",
    ),
    (
        explains_itself,
        {"backends/novel/README.md": readme(**NO_ROW)},
        "README.md, Dependencies: nothing about novel-sdk, which its group installs",
    ),
    (
        explains_itself,
        {"backends/novel/README.md": readme(**NO_WORDS)},
        "README.md, Dependencies: nothing says of `novel-sdk` 'to upgrade'",
    ),
    (
        explains_itself,
        {"backends/novel/README.md": readme(Dependencies="Some.")},
        "README.md, Dependencies: 'None.', or a table with the columns why, licence, to upgrade, to mind",
    ),
    (
        explains_itself,
        {"backends/novel/README.md": readme(**OTHER_TOOL)},
        "README.md, Install: steps that take other tools belong into setup.md",
    ),
    (explains_itself, {"backends/novel/setup.md": "# Steps\n"}, "README.md, Install: no link to setup.md"),
    (declares_itself_alone, {"backends/novel/__init__.py": ""}, "__init__.py does not say BACKEND = Backend(…)"),
    (declares_itself_alone, {"backends/novel/__init__.py": "BACKEND = Backend()\n"}, "__init__.py has no Description(…)"),
    (
        declares_itself_alone,
        {"backends/novel/__init__.py": "import flambeau.backends.novel.lower\n\nBACKEND = Backend(description=Description())\n"},
        "__init__.py imports flambeau.backends.novel.lower",
    ),
    (
        declares_itself_alone,
        {"backends/novel/__init__.py": "import novel_sdk\n\nBACKEND = Backend(description=Description())\n"},
        "__init__.py imports novel_sdk",
    ),
]


def written(root: Path, tree: Mapping[str, str | None]) -> Path:
    """The backend's folder in a tree whose files are written."""
    for name, text in tree.items():
        if text is not None:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text)
    return root / "backends" / "novel"


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_folder_that_keeps_the_rules_is_told_nothing(rule: Callable[[Path], list[str]], tmp_path: Path):
    assert rule(written(tmp_path, GOOD)) == []


def test_a_backend_may_use_the_parts_of_its_family(tmp_path: Path):
    lowering = {"backends/member/lower.py": "import flambeau.backends.novel.lower\n"}
    member = {**lowering, "backends/member/__init__.py": 'BACKEND = Backend(family="novel")\n'}
    assert stays_in_its_folder(written(tmp_path / "member", {**GOOD, **member})) == []
    assert stays_in_its_folder(written(tmp_path / "other", {**GOOD, **lowering})) == ["backends/member/lower.py names it"]


@pytest.mark.parametrize(("rule", "change", "complaint"), BAD, ids=lambda item: item if isinstance(item, str) else "")
def test_a_folder_that_breaks_a_rule_is_told(
    rule: Callable[[Path], list[str]], change: Mapping[str, str | None], complaint: str, tmp_path: Path
):
    assert complaint in rule(written(tmp_path, {**GOOD, **change}))


def test_each_rule_is_broken_by_a_folder():
    assert {rule for rule, _, _ in BAD} == {*RULES}
