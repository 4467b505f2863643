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
    "default": ("Flambeau, --target executorch", "#f4a261"),
    "xnnpack": ("ExecuTorch with XNNPACK", "#4a6fa5"),
    "onnxruntime": ("ONNX Runtime", "#7d97bd"),
    "openvino": ("OpenVINO", "#a9b4c2"),
}
"""The engines that are drawn, each with its name and colour."""
MODELS = ("mobilenet_v2", "minilm", "deit_tiny")
LEFT, WIDTH, BAR, GAP, TOP = 110, 450, 13, 16, 76


def chart(recorded: dict[str, Any]) -> str:
    """Returns the chart as SVG: for each model, a bar for each engine, on a scale of its own."""
    parts: list[str] = []
    for index, (name, colour) in enumerate(NAMES.values()):
        x, y = 20 + 300 * (index % 2), 10 + 18 * (index // 2)
        parts.append(f'<rect x="{x}" y="{y}" width="11" height="11" fill="{colour}"/><text x="{x + 17}" y="{y + 10}">{escape(name)}</text>')
    y = TOP
    for model in MODELS:
        figures = recorded["models"][model]
        times = {engine: figures["threads_1"][engine]["least"] for engine in NAMES}
        longest = max(times.values())
        parts.append(f'<text x="{LEFT - 10}" y="{y + 3 * BAR - 4}" text-anchor="end" font-weight="600">{escape(model)}</text>')
        for engine, (_, colour) in NAMES.items():
            length = WIDTH * times[engine] / longest
            parts.append(f'<rect x="{LEFT}" y="{y}" width="{length:.1f}" height="{BAR - 2}" fill="{colour}"/>')
            parts.append(f'<text x="{LEFT + length + 6:.1f}" y="{y + 9}">{_short(times[engine])} ms</text>')
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
