"""Draws docs/assets/latency.svg from benchmarks/latency.json, which `compare.py --json` recorded.

python benchmarks/latency_chart.py
"""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RECORDED = ROOT / "benchmarks" / "latency.json"
CHART = ROOT / "docs" / "assets" / "latency.svg"
NAMES = {
    "flambeau": ("Flambeau, --target flambeau", "#d9480f"),
    "flambeau_executorch": ("Flambeau, --target executorch", "#f4a261"),
    "xnnpack": ("ExecuTorch with XNNPACK", "#4a6fa5"),
    "portable": ("ExecuTorch, portable kernels", "#a9b4c2"),
}
"""The runtimes that are drawn, each with its name and colour."""
LEFT, WIDTH, BAR, GAP, TOP = 110, 450, 13, 16, 58
CUT = 1.6
"""A bar ends here, relative to the longest of the other bars of its model, with a mark and its number."""


def chart(recorded: dict[str, Any]) -> str:
    """Returns the chart as SVG: for each model, a bar for each runtime, on a scale of its own."""
    parts: list[str] = []
    for index, (name, colour) in enumerate(NAMES.values()):
        x, y = 20 + 300 * (index % 2), 10 + 18 * (index // 2)
        parts.append(f'<rect x="{x}" y="{y}" width="11" height="11" fill="{colour}"/><text x="{x + 17}" y="{y + 10}">{escape(name)}</text>')
    y = TOP
    for model, figures in recorded["models"].items():
        times: dict[str, float] = figures["milliseconds_least"]
        longest = max(time for runtime, time in times.items() if runtime in NAMES and runtime != "portable")
        parts.append(f'<text x="{LEFT - 10}" y="{y + 2 * BAR + 4}" text-anchor="end" font-weight="600">{escape(model)}</text>')
        for runtime, (_, colour) in NAMES.items():
            length = WIDTH * min(times[runtime] / longest, CUT) / CUT
            is_cut = times[runtime] > CUT * longest
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{colour}"/>')
            if is_cut:
                parts.append(f'<path d="M{LEFT + length - 16:.0f} {y - 1} l8 {BAR} h4 l-8 -{BAR} z" fill="#fff"/>')
            parts.append(f'<text x="{LEFT + length + 6:.1f}" y="{y + 9}">{_short(times[runtime])} ms</text>')
            y += BAR
        y += GAP
    told = f"{recorded['machine'].partition(',')[0]}, one core, one thread, {recorded['date']}: least of calls in turns"
    parts.append(f'<text x="{LEFT}" y="{y + 4}" fill="#555">{escape(told)}</text>')
    frame = f'viewBox="0 0 640 {y + 16}" width="640" height="{y + 16}" font-family="system-ui, sans-serif" font-size="11.5"'
    return "\n".join(
        [f'<svg xmlns="http://www.w3.org/2000/svg" {frame}>', '<rect width="100%" height="100%" rx="8" fill="#fff"/>', *parts, "</svg>", ""]
    )


def _short(time: float) -> str:
    """Returns a number with three digits."""
    return f"{time:.0f}" if time >= 100 else f"{time:.3g}"


if __name__ == "__main__":
    CHART.write_text(chart(json.loads(RECORDED.read_text(encoding="utf-8"))), encoding="utf-8")
