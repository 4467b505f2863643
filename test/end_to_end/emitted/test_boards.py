"""Small networks on boards in QEMU, and as WebAssembly: as C and as `.pte` they compute the same bits, and this machine's numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest
from board import Board, boards
from board_images import FORMS, BuildError, build
from board_networks import Case, compile_case
from devices import Row, row
from link_map import pieces

from flambeau.compiler.memory_report import memory_reports
from flambeau.compiler.scratch_memory import measure_scratch
from flambeau.dialects.schema.context import FlambeauContext
from flambeau.runtime.emit import read_pte

NAMES = ("cortex_m4f", "cortex_m55", "rv32", "aarch64", "wasm")
FOUND = [name for name in NAMES if boards()[name].missing is None]
"""The boards that this machine builds for and runs."""
NETWORKS = (("digits", "float"), ("ds_cnn", "int8"))
_PROGRAM_TEXT = 4000
"""The bytes that an emitted DS-CNN may take beside kernels and weights."""


@pytest.fixture(scope="module")
def cases() -> Mapping[str, Case]:
    return {network: compile_case(network, type) for network, type in NETWORKS}


@pytest.fixture(scope="module", params=FOUND)
def results(request: pytest.FixtureRequest, cases: Mapping[str, Case]) -> list[list[Row]]:
    board = boards()[request.param]
    return [[row(board, network, type, form, cases[network]) for form in FORMS] for network, type in NETWORKS]


def test_both_forms_are_right_and_equal(results: list[list[Row]]) -> None:
    for pair in results:
        assert [item.why for item in pair] == ["", ""]
        assert pair[0].hash == pair[1].hash is not None


def test_a_program_asks_for_the_memory_that_the_compiler_tells(results: list[list[Row]], cases: Mapping[str, Case]) -> None:
    for (network, _), (loaded, _) in zip(NETWORKS, results, strict=True):
        context, program = FlambeauContext(), cases[network].program
        module = read_pte(program, context)
        assert measure_scratch(module, context, program) is None
        told = memory_reports(module, context)["forward"]
        assert loaded.records == (told.method if loaded.pointer_size == 8 else told.method_32)
        assert loaded.planned == sum(told.arenas)
        assert told.scratch is not None
        # Kernels with wide vectors order weights for them, and tables of pointers are smaller where addresses are.
        assert loaded.scratch <= told.scratch


def test_emitted_c_is_smaller_and_needs_no_more_instructions(results: list[list[Row]]) -> None:
    for loaded, emitted in results:
        assert emitted.text < loaded.text
        assert emitted.stack < loaded.start_stack
        if emitted.instructions is not None and loaded.instructions is not None:
            assert emitted.instructions < loaded.instructions
    if results[0][0].board == "Cortex-M4F":
        assert results[1][1].program_text < _PROGRAM_TEXT


@pytest.mark.parametrize("name", FOUND[:1])
def test_a_wrong_output_is_told(cases: Mapping[str, Case], name: str) -> None:
    case = cases["digits"]
    changed = replace(case, outputs=(case.outputs[0][:-1] + bytes([case.outputs[0][-1] ^ 1]),))
    found = row(boards()[name], "changed", "float", FORMS[1], changed)
    assert found.why == "outputs are wrong"
    assert found.difference is not None and found.difference > 1e-3


@pytest.mark.parametrize("name", FOUND[:1])
def test_a_program_that_does_not_fit_says_so(cases: Mapping[str, Case], name: str) -> None:
    board = boards()[name]
    small = replace(board, name="small", memory={**board.memory, "RAM": (board.memory["RAM"][0], 16 << 10)})
    with pytest.raises(BuildError, match=r"region `RAM' overflowed by [0-9]+ bytes"):
        build(small, cases["digits"], FORMS[1], "digits-float")


def test_a_missing_compiler_or_emulator_is_named() -> None:
    board = Board("none", ("no-such-gcc",), (), ("bare",), ("no-such-emulator",), "some-package")
    assert board.missing == "there is no no-such-gcc and no no-such-emulator; in Debian: some-package"
    told = replace(board, compiler=("cc", "--no-such-option"), emulator=("true",)).missing
    assert told is not None and told.startswith("cc fails: ") and told.endswith("; in Debian: some-package")


_GNU = """
Discarded input sections

 .text.unused   0x00000000       0x10 /a/net.o

Linker script and memory map

 .text.run      0x00000100       0x1c /a/net.o
 .text.a_function_of_a_long_name
                0x00000120       0x20 /a/lib.a(f.o)
 .bss.arena     0x20000000      0x400 /a/net.o
 .debug_info    0x00000000      0x999 /a/net.o
"""
_LLD = """
       -      446       1c         /a/net.o:(run)
       -      446       1c                 run
    1100    292c7      7a8         /a/net.o:(.rodata.weights)
   1a780        0        4         /a/net.o:(.bss.arena)
"""


def test_maps_of_linkers_are_read() -> None:
    assert list(pieces(_GNU)) == [("/a/net.o", 0x1C, False), ("/a/lib.a(f.o)", 0x20, False), ("/a/net.o", 0x400, True)]
    assert list(pieces(_LLD)) == [("/a/net.o", 0x1C, False), ("/a/net.o", 0x7A8, False), ("/a/net.o", 4, True)]
