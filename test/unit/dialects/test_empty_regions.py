"""An operation with an empty region is accepted, or refused with its place and in words about the text."""

from __future__ import annotations

from pathlib import Path

import pytest
from shares import drawn
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Region

from flambeau.dialects.ir.verify import VerificationError, verify_module
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.dialects.text.module_text import IRError, parse_module, print_module, verify_parsed

FOLDER = Path(__file__).parents[2] / "filecheck"
FILES = sorted(path.relative_to(FOLDER).as_posix() for path in FOLDER.rglob("*.mlir"))
EMPTY = '"builtin.module"() ({}) : () -> ()'
TWO = '"builtin.module"() ({\n^bb0:\n  "test.op"() : () -> ()\n^bb1:\n  "test.op"() : () -> ()\n}) : () -> ()'
LIBRARY = ("Region class", "single-block regions", "cannot be checked", "parser failed")
"""Words of the library about its own code."""


def check(text: str) -> str:
    """Parses and verifies a text, and returns the message of the error, which has a place; none if the text is valid."""
    try:
        parsed = parse_module(text, FlambeauContext(allow_unregistered=True))
        verify_parsed(parsed)
    except IRError as error:
        assert error.diagnostic.position is not None, error
        assert not any(words in str(error) for words in LIBRARY), error
        return error.diagnostic.message
    return ""


@pytest.mark.parametrize("before", ["", "\n  "])
def test_a_module_needs_one_block(before: str) -> None:
    assert check(f"{before}{EMPTY}") == "region body is empty: it needs a block"
    assert check(f"{before}{TWO}") == "region body has 2 blocks: it needs a single one"
    assert check(f"builtin.module {{ {EMPTY} }}") == "region body is empty: it needs a block"


def test_a_module_without_a_block_from_python_is_an_error_of_the_verifier() -> None:
    with pytest.raises(VerificationError, match="region body is empty: it needs a block"):
        verify_module(ModuleOp(Region()))


def with_empty_region(text: str, number: int) -> ModuleOp | None:
    """Returns a module with one of the regions inside of it emptied, counted in the order of the operations; None when it has fewer."""
    module = parse_module(text, FlambeauContext(allow_unregistered=True)).module
    regions = [region for op in module.walk() if op is not module for region in op.regions if region.blocks]
    if number >= len(regions):
        return None
    region = regions[number]
    for inner in list(region.blocks):
        region.detach_block(inner)
    return module


@pytest.mark.parametrize("name", drawn(FILES))
def test_operations_of_the_test_files(name: str) -> None:
    for chunk in (FOLDER / name).read_text().split("// -----\n"):
        try:
            verify_parsed(parse_module(chunk, FlambeauContext(allow_unregistered=True)))
        except IRError:
            continue
        for number in range(3):
            module = with_empty_region(chunk, number)
            if module is None:
                break
            check(print_module(module, generic=True))
