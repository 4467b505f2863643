"""Markdown from docstrings and tables."""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Iterable, Sequence

WRITTEN_BY = "<!-- Written by `make docs`. -->"

_SECTION = re.compile(r"^(Args|Attributes|Raises|Example):\n((?:(?: {4}.*)?\n)+)", re.MULTILINE)
_ENTRY = re.compile(r"^(\S[^:]*): ", re.MULTILINE)


def summary(thing: object) -> str:
    """Returns the first paragraph of a docstring, on one line, in a form that fits a table."""
    return cell(" ".join((inspect.getdoc(thing) or "").partition("\n\n")[0].split()))


def cell(text: str) -> str:
    """Returns a text in a form that fits a table: stars outside of code are escaped."""
    parts = text.replace("|", "\\|").split("`")
    return "`".join(part if index % 2 else part.replace("*", "\\*") for index, part in enumerate(parts))


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Returns a table and an empty line; nothing if it has no rows."""
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return [f"| {' | '.join(header)} |", "|---" * len(header) + "|", *lines, ""] if lines else []


def fenced(code: str, language: str) -> list[str]:
    """Returns a block of code and an empty line."""
    return [f"```{language}", *code.strip("\n").splitlines(), "```", ""]


def sections_of(text: str) -> tuple[str, dict[str, str]]:
    """Returns a docstring without its sections, and the sections by title."""
    text = f"{text}\n"
    found = {match[1]: textwrap.dedent(match[2]).strip("\n") for match in _SECTION.finditer(text)}
    return _SECTION.sub("", text).strip(), found


def entries_of(section: str) -> dict[str, str]:
    """Returns the entries of a docstring's section by name, each on one line; `a, b: text` describes both."""
    found: dict[str, str] = {}
    places = [*_ENTRY.finditer(section)]
    ends = [*(match.start() for match in places[1:]), len(section)]
    for match, end in zip(places, ends[: len(places)], strict=True):
        what = " ".join(section[match.end() : end].split())
        found |= dict.fromkeys(match[1].split(", "), what)
    return found


def docstring(text: str) -> list[str]:
    """Returns a docstring as paragraphs and a list, with its example as code that the tests run, and an empty line at the end."""
    text, sections = sections_of(text)
    lines = [*text.splitlines(), ""] if text else []
    items = [f"* `{name}`: {what}" for title in ("Args", "Attributes") for name, what in entries_of(sections.get(title, "")).items()]
    items += [f"* raises `{name}`: {what}" for name, what in entries_of(sections.get("Raises", "")).items()]
    lines += [*items, ""] if items else []
    return [*lines, *(fenced(sections["Example"], "python") if "Example" in sections else [])]
