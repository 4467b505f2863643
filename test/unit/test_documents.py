"""The harness that runs the code in documents: what it accepts, and that it can fail."""

from pathlib import Path

import pytest
from documents import commands_of, documents_in, matches


def test_output_may_be_left_out_with_dots():
    assert matches("a\n...\nc\n", "a\nb\nb\nc")
    assert matches("took ... ms\n", "took 3.5 ms  \n")
    assert not matches("a\n...\nd\n", "a\nb\nc")
    assert not matches("a\n", "a\nb\n")


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
        f"import sys\nsys.path.insert(0, {str(folder)!r})\nfrom pathlib import Path\nfrom documents import documents_in\n"
        "pytest_collect_file = documents_in(Path(__file__).parent)\n"
    )
    result = pytester.runpytest_subprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=len(GOOD) + 1, failed=len(BAD))  # the session with a file has two blocks
    assert all(f"bad_{index}.md" in str(result.stdout) for index in range(len(BAD)))
