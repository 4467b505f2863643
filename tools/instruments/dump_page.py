"""The index of a folder of stage files as a page: every step, its size, and its changes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

MOST_LINES = 2000
"""The longest diff that the page shows whole."""

_STYLE = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; }
summary, .same { padding: .2rem .5rem; border-left: 4px solid transparent; }
summary { cursor: pointer; border-color: light-dark(#0969da, #58a6ff); }
.same { color: light-dark(#656d76, #8b949e); }
.failed summary { border-color: light-dark(#cf222e, #f85149); }
.size { float: right; font-variant-numeric: tabular-nums; }
pre { overflow-x: auto; font: 13px/1.4 ui-monospace, monospace; padding: .5rem 1rem; }
.add { background: light-dark(#dafbe1, #033a16); }
.del { background: light-dark(#ffebe9, #67060c); }
.hunk { color: light-dark(#0969da, #58a6ff); }
"""

_CLASSES = {"+": "add", "-": "del", "@": "hunk"}


@dataclass(frozen=True)
class StepView:
    """The row of one step on the page."""

    title: str
    operations: int
    added: int
    """The number of operations after the step, minus the number after the previous step."""
    file: str
    diff: Sequence[str] | None
    """The lines of a diff; None when nothing changed."""
    failed: bool = False


def page(title: str, steps: Sequence[StepView]) -> str:
    """Returns the page as HTML that needs no other file and no network."""
    body = "\n".join(_step(step) for step in steps)
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{_STYLE}</style>'
    return f"<!doctype html>\n<html lang=en>{head}\n<h1>{escape(title)}</h1>\n{body}\n</html>\n"


def _step(step: StepView) -> str:
    change = f" ({step.added:+d})" if step.added else ""
    size = f'<span class="size">{step.operations} operations{change}</span>'
    if step.diff is None:
        return f'<div class="same">{size}{escape(step.title)}</div>'
    shown = [_line(line) for line in step.diff[:MOST_LINES]]
    if len(step.diff) > MOST_LINES:
        shown.append(f"… {len(step.diff) - MOST_LINES} more lines")
    failed = ' class="failed"' if step.failed else ""
    link = f'<a href="{escape(step.file)}">{escape(step.file)}</a>'
    text = "\n".join(shown)
    return f"<details{failed}><summary>{size}{escape(step.title)}</summary>\n{link}<pre>{text}</pre></details>"


def _line(line: str) -> str:
    kind = _CLASSES.get(line[:1])
    return f'<span class="{kind}">{escape(line)}</span>' if kind else escape(line)
