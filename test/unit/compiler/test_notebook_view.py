"""Programs and profiles as notebooks show them."""

from __future__ import annotations

from html.parser import HTMLParser

import torch
from torch import nn

from flambeau import to_edge
from flambeau.compiler.program_profile import profile_program


class _Tags(HTMLParser):
    """Notes the tags that are open, and the text of cells."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.cells: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] == "td":
            self.cells.append(data)


def cells_of(html: str) -> list[str]:
    tags = _Tags()
    tags.feed(html)
    tags.close()
    assert not tags.open
    return tags.cells


def test_programs_and_profiles_are_tables() -> None:
    edge = to_edge(torch.export.export(nn.Sequential(nn.Linear(4, 4), nn.ReLU()).eval(), (torch.zeros(1, 4),)))
    html = edge._repr_html_()  # pyright: ignore[reportPrivateUsage]: the name that notebooks look for
    assert cells_of(html) == ["forward", "2"] and "tensor&lt;1x4xf32&gt;" in html and "<th>memory" not in html
    program = edge.to_executorch()
    html = program._repr_html_()  # pyright: ignore[reportPrivateUsage]: the name that notebooks look for
    assert cells_of(html)[:2] == ["forward", "2"] and "bytes of memory" in html and "exec.method" in html
    profile = profile_program(program.buffer, lambda: [torch.zeros(1, 4)], iterations=2)
    html = profile._repr_html_()  # pyright: ignore[reportPrivateUsage]: the name that notebooks look for
    assert [cell for cell in cells_of(html) if cell.startswith("aten::")] == ["aten::linear.out", "aten::relu.out"]
