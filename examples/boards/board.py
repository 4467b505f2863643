"""A board: its compiler, its emulator, and what of the harness is of its kind. Each file of this folder that says `BOARD` is one."""

from __future__ import annotations

import importlib
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

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
        linker: the command that links, with its flags, where it is not the compiler.
        arithmetic: the files of the harness with functions that the compiler calls and its library lacks, without `.c`.
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
    linker: tuple[str, ...] = ()
    arithmetic: tuple[str, ...] = ()

    @property
    def link_command(self) -> tuple[str, ...]:
        """The command that links, with the flags of the processor."""
        return self.linker or (*self.compiler, *self.flags)

    def layout(self, folder: Path) -> tuple[str, ...]:
        """Writes where memory lies to a folder, and returns the options of the linker; none where there is an operating system."""
        if not self.memory:
            return ()
        regions = "\n".join(f"  {name} : ORIGIN = {origin:#x}, LENGTH = {length:#x}" for name, (origin, length) in self.memory.items())
        alias = "" if "CONSTANTS" in self.memory else 'REGION_ALIAS("CONSTANTS", CODE)\n'
        folder.joinpath("memory.ld").write_text(f"MEMORY {{\n{regions}\n}}\n{alias}ENTRY({self.entry})\n")
        return "-nostartfiles", "-T", str(HARNESS / "bare.ld"), "-L", str(folder)

    @property
    def missing(self) -> str | None:
        """What this machine lacks to build and run for the board; None if it has all."""
        needed = dict.fromkeys((self.compiler[0], self.link_command[0], self.emulator[0]))
        absent = [command for command in needed if shutil.which(command) is None]
        if absent:
            return f"there is no {' and no '.join(absent)}; in Debian: {self.packages}"
        with TemporaryDirectory() as place:
            sources = {"probe": "-"} | {name: str(HARNESS / f"{name}.c") for name in self.arithmetic}
            objects = [f"{place}/{name}.o" for name in sources]
            compiles = [
                [*self.compiler, *self.flags, "-x", "c", source, "-c", "-o", f"{place}/{name}.o"] for name, source in sources.items()
            ]
            for command in (
                *compiles,
                [*self.link_command, *self.layout(Path(place)), "-Wl,-e,main", *objects, "-o", f"{place}/image", *self.libraries],
            ):
                done = subprocess.run(command, input=_PROBE, capture_output=True, text=True)
                if done.returncode:
                    said = next((line for line in done.stderr.splitlines() if "error: " in line or "undefined" in line), "no message")
                    return f"{command[0]} fails: {said.rpartition(': ')[2]}; in Debian: {self.packages}"
        return None


_PROBE = """
#include <math.h>
#include <stdint.h>
#include <string.h>
volatile float number;
volatile uint64_t integer;
int main(void) {
  number = expf(number) / number;
  integer /= 7;
  return 0;
}
"""
"""Arithmetic that some processors do in software, and libraries."""


_QUIET = ("-nographic", "-monitor", "none", "-serial", "none", "-semihosting-config", "enable=on,target=native", "-kernel")


def cortex_m(name: str, machine: str, *flags: str, **regions: tuple[int, int]) -> Board:
    """Returns a board of Arm's MPS2 or MPS3; `regions` are those that differ from 4 MB of code and constants, and 4 MB of RAM."""
    return Board(
        name,
        ("arm-none-eabi-gcc",),
        ("-mthumb", *flags),
        ("bare", "cortex_m"),
        ("qemu-system-arm", "-M", machine, *_QUIET),
        "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm",
        {"CODE": (0, 4 << 20), "RAM": (0x20000000, 4 << 20)} | regions,
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
    return Board(
        name, (f"{triple}-gcc",), ("-fno-pie", *flags), ("hosted",), emulator, f"{packages} qemu-user", libraries=("-static", "-lm")
    )


@cache
def boards() -> Mapping[str, Board]:
    """Returns the boards by the names of their files."""
    found: dict[str, Board] = {}
    for path in sorted(FOLDER.glob("*.py")):
        if "\nBOARD = " in path.read_text():
            found[path.stem] = importlib.import_module(path.stem).BOARD
    return found
