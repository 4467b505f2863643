"""The input of the tool: a file or stdin, as one text or split at marker lines; a `.pte` as the text of its module."""

from __future__ import annotations

import re
import sys

from flambeau.dialects.ir.blobs import BlobStore
from flambeau.dialects.ir.diagnostics import Diagnostic
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import decode, print_module, read_text
from flambeau.dialects.text.source_text import Source


def is_program(path: str) -> bool:
    """Returns whether a file is a `.pte` or `.bpte`, which contains its weights."""
    return path.endswith((".pte", ".bpte"))


def read_input(path: str, blobs: BlobStore) -> Source:
    """Returns the text of a file; `-` is stdin. The store receives the weights of a `.pte`.

    Raises ValueError if it holds no module, OSError.
    """
    if is_program(path):
        # Imported here, because most runs of the tool read no program.
        from flambeau.frontends.interface import find_frontend

        read = find_frontend(path)
        assert read is not None
        return Source(print_module(read(path, FlambeauContext(blobs=blobs)), locations=True), path)
    if path != "-":
        return Source(read_text(path), path)
    # The text of a module is UTF-8 in every locale.
    return Source(decode(sys.stdin.buffer.read(), "<stdin>"), "<stdin>")


def split(source: Source, marker: str) -> list[Source]:
    """Returns the parts between lines that hold just `marker`; each counts its lines from the start of the file."""
    parts: list[Source] = []
    start = lines = 0
    for match in re.finditer(rf"^{re.escape(marker)}[ \t]*(?:\n|\Z)", source.text, re.MULTILINE):
        parts.append(Source(source.text[start : match.start()], source.file, lines))
        lines += source.text.count("\n", start, match.end())
        start = match.end()
    parts.append(Source(source.text[start:], source.file, lines))
    return parts


def near_markers(source: Source, marker: str) -> list[Diagnostic]:
    """Returns warnings about lines that resemble `marker` and are none, because they leave modules unsplit."""
    pattern = re.compile(rf"^(?!{re.escape(marker)}[ \t]*$){re.escape(marker[:-2] or marker)}.*", re.MULTILINE)
    message = f"this splits nothing: a line that does is just {marker!r}"
    return [Diagnostic("warning", message, source.position(match.start(), match.end())) for match in pattern.finditer(source.text)]
