"""A board: its compiler, its emulator, and what of the harness is of its kind. Each file of this folder that says `BOARD` is one."""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
HARNESS = FOLDER / "harness"


@dataclass(frozen=True)
class Board:
    """What differs between boards.

    Attributes:
        name: what tables call it.
        compiler: the command that compiles C, and links.
        flags: of the compiler and the linker: the processor.
        machine: the files of the harness with the start and the output of this kind of machine, without `.c`.
        emulator: the command that runs an image, which is its last argument.
        packages: the packages of Debian that have the compiler, its libraries and the emulator.
        memory: address and bytes of the regions `CODE`, `RAM`, and `CONSTANTS` where it is another than `CODE`, of a machine without an
            operating system.
        entry: where such a machine starts.
        libraries: what is linked after the objects.
        is_counted: whether the emulator is QEMU, whose instructions can be counted.
    """

    name: str
    compiler: tuple[str, ...]
    flags: tuple[str, ...]
    machine: tuple[str, ...]
    emulator: tuple[str, ...]
    packages: str
    memory: Mapping[str, tuple[int, int]] = field(default_factory=dict[str, tuple[int, int]])
    entry: str = "Reset_Handler"
    libraries: tuple[str, ...] = ("-lm", "-lc", "-lgcc")
    is_counted: bool = True

    @property
    def missing(self) -> str | None:
        """What this machine lacks to build and run for the board; None if it has all."""
        absent = [command for command in (self.compiler[0], self.emulator[0]) if shutil.which(command) is None]
        if absent:
            return f"there is no {' and no '.join(absent)}; in Debian: {self.packages}"
        end = ("-c",) if self.memory else self.libraries
        command = [*self.compiler, *self.flags, "-x", "c", "-", *end, "-o", os.devnull]
        done = subprocess.run(command, input=_PROBE, capture_output=True, text=True)
        return f"{self.compiler[0]} cannot compile for it; in Debian: {self.packages}" if done.returncode else None


_PROBE = "#include <math.h>\n#include <string.h>\nint main(void) { return 0; }\n"


def cortex_m(name: str, machine: str, *flags: str, code: int = 0, constants: tuple[int, int] | None = None, ram: int = 0x20000000) -> Board:
    """Returns a board of Arm's MPS2 or MPS3, with 4 MB of code and constants, and 4 MB of RAM, unless it says otherwise."""
    regions = {"CODE": (code, 4 << 20), "RAM": (ram, 4 << 20)}
    return Board(
        name,
        ("arm-none-eabi-gcc",),
        ("-mthumb", *flags),
        ("bare", "cortex_m"),
        ("qemu-system-arm", "-M", machine, *_QUIET),
        "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",
        regions | ({"CONSTANTS": constants} if constants else {}),
    )


def riscv(name: str, bits: int, *flags: str) -> Board:
    """Returns QEMU's RISC-V machine, with 16 MB each of code, constants and RAM."""
    return Board(
        name,
        ("riscv64-unknown-elf-gcc",),
        ("--specs=picolibc.specs", "-mcmodel=medany", *flags),
        ("bare", "riscv"),
        (f"qemu-system-riscv{bits}", "-M", "virt", "-bios", "none", *_QUIET),
        "gcc-riscv64-unknown-elf picolibc-riscv64-unknown-elf qemu-system-misc",
        {"CODE": (0x80000000, 16 << 20), "RAM": (0x81000000, 16 << 20)},
        "board_reset",
    )


def linux(name: str, machine: str, triple: str, *flags: str, packages: str) -> Board:
    """Returns a machine with Linux, whose programs QEMU runs as programs of this one."""
    emulator = (f"qemu-{machine}", "-cpu", "max")
    return Board(name, (f"{triple}-gcc",), flags, ("hosted",), emulator, f"{packages} qemu-user", libraries=("-static", "-lm"))


_QUIET = ("-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native", "-kernel")


@cache
def boards() -> Mapping[str, Board]:
    """Returns the boards by the names of their files."""
    found: dict[str, Board] = {}
    for path in sorted(FOLDER.glob("*.py")):
        if "\nBOARD = " in path.read_text():
            found[path.stem] = importlib.import_module(path.stem).BOARD
    return found
