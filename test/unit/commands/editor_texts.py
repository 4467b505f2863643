"""Texts in an editor, and what the language server says of a place in them: for tests."""

from pathlib import Path

from lsprotocol import types

from flambeau.tools.language_server import completion, hover, published_diagnostics
from flambeau.tools.language_server.analysis import Analysis, analyze, moved

URI = "file:///model.mlir"
FILECHECK = Path(__file__).resolve().parents[2] / "filecheck"

TEXT = """builtin.module {
  ml_program.global private @w(#flambeau.blob<"w", "7fa0bc053ff10c49">) : tensor<8x8xf32>
  func.func @forward(%x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %w = ml_program.global_load_const @w : tensor<8x8xf32>
    %y = aten.linear(%x, %w, none) : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
    %z = aten.relu(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
    %s:2 = aten.split.Tensor(%z) {split_size = 4, dim = 1} : (tensor<4x8xf32>) -> (tensor<4x4xf32>, tensor<4x4xf32>)
    %u = aten.cat([%s#0, %s#1]) {dim = 1} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
    func.return %u : tensor<4x8xf32>
  }
}
"""

BAD = TEXT.replace("    func.return", "    %bad = aten.relu(%y) : (tensor<4x8xf32>) -> tensor<4x9xf32>\n    func.return")

BLOCKS = """builtin.module {
  func.func @f(%a : i32, %c : i1) -> i32 {
    cf.cond_br %c, ^one(%a : i32), ^two
  ^one(%p : i32):
    cf.br ^two
  ^two:
    func.return %a : i32
  }
}
"""


def place(analysis: Analysis, text: str, number: int = 0, inside: int = 1) -> types.Position:
    """A character of the `number`-th occurrence of `text`."""
    start = -1
    for _ in range(number + 1):
        start = analysis.text.index(text, start + 1)
    return analysis.lines.position(start + inside)


def words(analysis: Analysis, ranges: list[types.Range]) -> list[tuple[int, str]]:
    """The line, from 1, and the text of each range."""
    return [(item.start.line + 1, analysis.text[analysis.lines.offset(item.start) : analysis.lines.offset(item.end)]) for item in ranges]


def hovered(analysis: Analysis, text: str, number: int = 0, inside: int = 1) -> str:
    found = hover.hover(analysis, place(analysis, text, number, inside))
    return "" if found is None else str(getattr(found.contents, "value", ""))


def found_in(analysis: Analysis) -> list[tuple[int, str, str]]:
    """Line, text under the squiggle, message."""
    found = published_diagnostics.diagnostics(analysis, URI)
    return [(*words(analysis, [item.range])[0], item.message) for item in found]


def labels(text: str, at: str = "|", previous: Analysis | None = None) -> list[str]:
    """What is proposed where `at` stands in the text."""
    offset = text.index(at)
    text = text.replace(at, "")
    analysis = analyze(text, "model.mlir") if previous is None else moved(text, previous)
    return [item.label for item in completion.complete(analysis, analysis.lines.position(offset))]
