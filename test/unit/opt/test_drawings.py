"""Drawings of modules as SVG, by Graphviz where it is installed."""

from __future__ import annotations

from pathlib import Path

import pytest

from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import parse_module
from flambeau.passes.manager import PassError, Pipeline

TEXT = "func.func @f(%x: tensor<2xf32>) -> tensor<2xf32> {\n  func.return %x : tensor<2xf32>\n}"


def draw(path: Path) -> None:
    context = FlambeauContext()
    Pipeline.parse(f'view-op-graph{{file="{path}"}}').run(parse_module(TEXT, context).module, context)


def test_an_svg_is_what_dot_makes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dot").write_text('#!/bin/sh\n[ "$1" = -Tsvg ] && printf "drawn: " && /bin/cat\n')
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    draw(tmp_path / "graph.svg")
    assert (tmp_path / "graph.svg").read_text().startswith("drawn: digraph G {\n")


def test_an_error_of_dot_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "dot").write_text("#!/bin/sh\necho 'out of paper' >&2; exit 1\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(PassError, match="dot cannot draw the graph: out of paper"):
        draw(tmp_path / "graph.svg")
    assert not (tmp_path / "graph.svg").exists()


def test_without_dot_only_text_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ValueError, match=r"graph\.svg needs the program dot of Graphviz, which is not installed"):
        draw(tmp_path / "graph.svg")
    draw(tmp_path / "graph.dot")
    assert "func.return" in (tmp_path / "graph.dot").read_text()
