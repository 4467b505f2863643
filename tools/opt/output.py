"""What the tool writes beside the result: reports that options ask for."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any


def write_json(path: str, report: Any) -> None:
    """Writes a report as JSON to a file; `-` is stderr, for stdout belongs to the IR. Raises OSError."""
    import json

    text = json.dumps(report, indent=1) + "\n"
    if path == "-":
        sys.stderr.write(text)
    else:
        Path(path).write_text(text, encoding="utf-8")
