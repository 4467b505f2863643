"""The page of a report: one HTML file with its data, its style and its scripts."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping
from gzip import compress
from html import escape
from importlib import resources

_PAGE = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{title}</title><link rel="icon" href="data:,"><style>
{style}</style></head>
<body><noscript>This page needs JavaScript.</noscript>
<script id="data" type="application/gzip">{data}</script>
<script>
{script}</script></body>
</html>
"""


def report_page(title: str, parts: Mapping[str, object]) -> str:
    """Returns the page as HTML that needs no other file and no network.

    The data is compressed, for the browser's `DecompressionStream`: most of it is text of IR, of which the stages share much.
    """
    data = json.dumps({"title": title, **parts}, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()
    packed = b64encode(compress(data, mtime=0)).decode()
    return _PAGE.format(title=escape(title), style=_assets(".css"), data=packed, script=_assets(".js"))


def _assets(suffix: str) -> str:
    """Returns the files of the page with a suffix, joined in the order of their names."""
    folder = resources.files("flambeau.tools.report").joinpath("page")
    files = sorted((file for file in folder.iterdir() if file.name.endswith(suffix)), key=lambda file: file.name)
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
