"""Writes docs/reference/kernels.md from the records of `benchmarks/kernels.py --json` beside this file, one for each instruction set.

python benchmarks/operator_shares/page.py
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
PAGE = FOLDER.parents[1] / "docs" / "reference" / "kernels.md"
RECORDS = {"avx512": "AVX-512", "avx2": "AVX2"}
"""The records by the names of their files, and what the library was compiled for."""
TARGETS = ("flambeau", "executorch")
HEAD = """# How fast operators are

The time of single operators on one core, and the shares that they reach of the operations and of the bytes that the machine does in a
second: by numpy's product of matrices, and its copy of an array that no cache holds. More than 100 % of the bandwidth is a cache's; more
than 100 % of the peak are integers, or a product better than numpy's. An operator that reaches less than 10 % of both has a reason, which
stands below the table.

`python benchmarks/kernels.py` measures this on your machine; `benchmarks/README.md` says how the records were made.
"""


def lines(title: str, recorded: Mapping[str, Any]) -> Iterator[str]:
    """Yields the section of a record."""
    flops, moved = recorded["flops_per_second"] / 1e9, recorded["bytes_per_second"] / 1e9
    yield f"\n## {title}\n\n{recorded['machine']}, {recorded['date']}: {flops:.0f} GFLOP/s, {moved:.1f} GB/s.\n"
    yield "| operator | `flambeau`, µs | of peak | of bandwidth | `executorch`, µs | of peak | of bandwidth |"
    yield "|---|---|---|---|---|---|---|"
    rows: dict[str, dict[str, Any]] = {}
    for row in recorded["rows"]:
        rows.setdefault(row["name"], {})[row["target"]] = row
    for name, found in rows.items():
        figures = [
            f"{row['microseconds']:.1f} | {row['of_peak']:.1%} | {row['of_bandwidth']:.1%}" for row in (found[target] for target in TARGETS)
        ]
        yield f"| {name} | {' | '.join(figures)} |"
    reasons = {name: reason for name, found in rows.items() for row in found.values() if (reason := row["reason"])}
    if reasons:
        yield ""
    for name, reason in reasons.items():
        yield f"* {name}: {reason}."


if __name__ == "__main__":
    text = [HEAD]
    for file, title in RECORDS.items():
        text += lines(title, json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8")))
    PAGE.write_text("\n".join(text) + "\n", encoding="utf-8")
