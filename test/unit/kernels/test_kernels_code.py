"""What compilers make of the inner loops of the matrix product: vectors stay in registers, for every instruction set they can target."""

from __future__ import annotations

import platform
import re
import shutil
import subprocess
from pathlib import Path

import pytest

KERNELS = Path(__file__).parents[3] / "runtime" / "c" / "kernels"
TARGETS = {
    # flags, the full tile, its multiply-adds
    "avx2": (["-mavx2", "-mfma"], "tile_6_2", 12),
    "avx512": (["-mavx512f", "-mfma"], "tile_8_3", 24),
}
NATIVE = platform.machine() == "x86_64"
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name) and (NATIVE or name == "clang")]


def loops(assembly: str, function: str) -> list[list[str]]:
    """The innermost loops of a function: the lines from a label to the jump back to it, with no label between."""
    match = re.search(rf"^{function}:.*?^\s*\.size\s+{function}", assembly, re.DOTALL | re.MULTILINE)
    assert match, f"no {function}"
    found: list[list[str]] = []
    label, body = "", list[str]()
    for line in match.group(0).splitlines():
        if named := re.match(r"(\.L\w+):", line):
            label, body = named.group(1), []
        body.append(line)
        if label and re.search(rf"\sj\w+\s+{re.escape(label)}$", line):
            found.append(list(body))
    return found


@pytest.mark.parametrize("target", list(TARGETS))
def test_product_keeps_its_tile_in_registers(target: str, tmp_path: Path) -> None:
    for compiler in COMPILERS:
        check_loops(compiler, *TARGETS[target], tmp_path)


def check_loops(compiler: str, flags: list[str], function: str, multiplications: int, tmp_path: Path) -> None:
    output = tmp_path / "gemm.s"
    cross = [] if NATIVE else ["--target=x86_64-linux-gnu"]
    command = [
        compiler,
        *cross,
        "-S",
        "-std=c11",
        "-O3",
        *flags,
        f"-I{KERNELS.parent}",
        f"-I{KERNELS.parent / 'include'}",
        str(KERNELS / "gemm.c"),
        "-o",
        str(output),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    products = [body for body in loops(output.read_text(), function) if any("vfmadd" in line for line in body)]
    assert products
    for body in products:
        count = sum("vfmadd" in line for line in body)
        assert count % multiplications == 0
        assert not [line for line in body if re.search(r"%[xyz]mm", line) and "(%rsp)" in line], "a vector was spilled"
        instructions = [line for line in body if re.match(r"\s+[a-z]", line)]
        assert len(instructions) <= 2.2 * count, "\n".join(body)
