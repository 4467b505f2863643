"""Runs networks on boards, and compares their outputs with those of this machine.

    python examples/boards/devices.py                                # every board, network and form
    python examples/boards/devices.py cortex_m4f --network ds_cnn    # some
    python examples/boards/cortex_m4f.py                             # one board

Prints a table, or with --json its rows. The status is 1 if an output is wrong, or a program does not build or run. A board whose
compiler or emulator this machine lacks is skipped, and named.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

from board import HARNESS, Board, boards
from board_images import BUILD, FORMS, BuildError, Image, build, symbol_addresses
from board_networks import NETWORKS, TYPES, Case, compile_case
from rich.console import Console
from rich.table import Table

_LIMIT = 300
"""Seconds after which a run has failed."""


@dataclass(frozen=True)
class Row:
    """One network in one form on one board.

    Attributes:
        why: what failed; empty if nothing did.
        difference: that of the outputs from the host's, in units of the largest; 0 where all bits are equal.
        text: bytes of code and constants without weights, the harness and libraries.
        program_text: those of the emitted program alone, without kernels.
        ram: bytes of variables and of memory given at run time, without the stack.
        stack: bytes of the stack that a run reached; `start_stack`: that loading reached.
        instructions: instructions of one run; None where they cannot be counted.
        records, scratch, planned: of a `.pte`, the bytes of memory that it asked for at run time, for each purpose.
        pointer_size: bytes of an address.
    """

    board: str
    network: str
    type: str
    form: str
    why: str = ""
    difference: float | None = None
    hash: int | None = None
    text: int = 0
    program_text: int = 0
    libraries: int = 0
    weights: int = 0
    ram: int = 0
    stack: int = 0
    start_stack: int = 0
    instructions: int | None = None
    records: int = 0
    scratch: int = 0
    planned: int = 0
    pointer_size: int = 0


def counter() -> str:
    """Returns the plug-in of QEMU that counts instructions, which is compiled once."""
    target, source = BUILD / "counter.so", HARNESS / "counter.c"
    if not target.exists() or target.stat().st_mtime < source.stat().st_mtime:
        BUILD.mkdir(parents=True, exist_ok=True)
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-Wall", "-Wextra", "-Werror", source, "-o", target], check=True)
    return str(target)


def run_image(board: Board, image: Image) -> tuple[int, Mapping[str, int], str]:
    """Runs an image; returns its status, the numbers that it wrote, and what it said beside them."""
    command = list(board.emulator)
    if board.is_counted:
        addresses = symbol_addresses(image.path, board)
        range_ = f"begin={addresses['board_begin'] & ~1:#x},end={addresses['board_end'] & ~1:#x}"
        command[1:1] = ["-plugin", f"{counter()},{range_}"]
    try:
        done = subprocess.run([*command, str(image.path)], capture_output=True, text=True, timeout=_LIMIT)
    except subprocess.TimeoutExpired:
        return 3, {}, f"it did not end within {_LIMIT} s"
    numbers: dict[str, int] = {}
    said: list[str] = []
    for line in (done.stdout + done.stderr).splitlines():
        name, _, number = line.partition(" ")
        if number.isdecimal():
            numbers[name] = max(numbers.get(name, 0), int(number))
        else:
            said.append(line)
    return done.returncode, numbers, " ".join(said)


def row(board: Board, network: str, type: str, form: str, case: Case) -> Row:
    """Builds and runs one program."""
    try:
        image = build(board, case, form, f"{network}-{type}")
    except BuildError as error:
        return Row(board.name, network, type, form, str(error))
    status, numbers, said = run_image(board, image)
    weights = len(case.program) if form == FORMS[0] else image.text.get("weights", 0)
    parts = ("program", "runtime", "kernels")
    why = said if status > 1 or "hash" not in numbers else "outputs are wrong" if status else ""
    return Row(
        board.name,
        network,
        type,
        form,
        why or ("" if status == 0 else f"it ended with status {status}"),
        numbers.get("difference_in_1e9", 0) / 1e9,
        numbers.get("hash"),
        sum(image.text.get(part, 0) for part in parts),
        image.text.get("program", 0),
        image.text.get("libraries", 0),
        weights,
        sum(image.ram.get(part, 0) for part in parts) + numbers.get("memory", 0),
        numbers.get("stack", 0),
        numbers.get("start_stack", 0),
        numbers.get("instructions"),
        *(numbers.get(name, 0) for name in ("records", "scratch", "planned", "pointer_size")),
    )


def rows(
    names: Iterable[str], networks: Iterable[str], types: Iterable[str], forms: Sequence[str], target: str, console: Console
) -> list[Row]:
    """Runs all that is asked for; names each board that this machine cannot build for or run."""
    found: list[Row] = []
    usable: list[Board] = []
    for name in names:
        board = boards()[name]
        if (missing := board.missing) is None:
            usable.append(board)
        else:
            console.print(f"skipped: {board.name}: {missing}", highlight=False)
    for network in networks:
        for type in types:
            case = compile_case(network, type, target)
            for board in usable:
                pair = [row(board, network, type, form, case) for form in forms]
                if len({item.hash for item in pair if not item.why}) > 1:
                    pair = [replace(item, why="its bits are not those of the other form") for item in pair]
                for item in pair:
                    console.print(f"{item.board}, {item.network}, {item.type}, {item.form}: {item.why or 'right'}", highlight=False)
                found += pair
    return found


def print_table(found: Sequence[Row], console: Console) -> None:
    """Prints the rows."""
    table = Table("board", "network", "form", "outputs", *(f"{name}" for name in ("text", "RAM", "stack", "instructions")))
    for item in found:
        outputs = item.why or ("equal" if not item.difference else f"within {item.difference:.0e}")
        numbers = (item.text, item.ram, item.stack, item.instructions)
        written = ["" if number is None else f"{number:,}".replace(",", " ") for number in numbers]
        table.add_row(item.board, f"{item.network}, {item.type}", item.form, outputs, *written)
    console.print(table)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command; `arguments` come before those of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("boards", nargs="*", metavar="BOARD", help=f"of {', '.join(boards())}; all by default")
    parser.add_argument("--network", action="append", choices=list(NETWORKS))
    parser.add_argument("--type", action="append", choices=TYPES)
    parser.add_argument("--form", action="append", choices=FORMS)
    parser.add_argument("--target", default="flambeau", help="whose kernels the programs call: cadence takes int8 only")
    parser.add_argument("--json", action="store_true", help="print the rows on stdout")
    options = parser.parse_args([*(arguments or ()), *sys.argv[1:]])
    unknown = [name for name in options.boards if name not in boards()]
    if unknown:
        parser.error(f"there is no board {', '.join(unknown)}; there are {', '.join(boards())}")
    console = Console(stderr=True)
    found = rows(
        options.boards or boards(), options.network or NETWORKS, options.type or TYPES, options.form or FORMS, options.target, console
    )
    print_table(found, console)
    if options.json:
        print(json.dumps([asdict(item) for item in found], indent=1))
    return int(any(item.why for item in found))


if __name__ == "__main__":
    sys.exit(main())
