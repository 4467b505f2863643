"""Writes a page that runs the network of digits on what one draws, in any browser, without a server and offline.

python examples/boards/digits_page.py        # build/boards/digits.html
"""

from __future__ import annotations

import base64
from pathlib import Path

from board import FOLDER, boards
from board_images import BUILD, emitted_objects, link
from board_networks import compile_case

_PAGE = FOLDER / "page"


def write_page(target: Path) -> None:
    """Writes the page: one file, which has the program.

    Raises:
        BuildError: the compiler fails.
    """
    board = boards()["wasm"]
    folder = BUILD / "page"
    objects = emitted_objects(board, compile_case("digits", "float"), folder, _PAGE / "digits.c")
    image = folder / "digits.wasm"
    files = (path for paths in objects.values() for path in paths)
    link(board, [*files, "-nostartfiles", "-Wl,--no-entry", "-Wl,--strip-all"], image)
    program = image.read_bytes()
    text = (_PAGE / "digits.html").read_text()
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text.replace("SIZE", f"{len(program):,}").replace("PROGRAM", base64.b64encode(program).decode()))


if __name__ == "__main__":
    write_page(BUILD / "digits.html")
    print(BUILD / "digits.html")
