"""A RISC-V processor of 64 bits, whose vectors of 128 bits clang uses where it vectorises loops by itself.

GCC does so since version 14; Debian's for RISC-V is older.
"""

from dataclasses import replace

from rv64 import BOARD as SCALAR

BOARD = replace(
    SCALAR,
    name="RV64V",
    compiler=("clang",),
    flags=(
        *("--target=riscv64-unknown-elf", "-march=rv64gcv", "-mabi=lp64d", "-mcmodel=medany", "-O3"),
        *("-mllvm", "-riscv-v-vector-bits-min=128", "-isystem", "/usr/lib/picolibc/riscv64-unknown-elf/include"),
    ),
    linker=SCALAR.link_command,
    emulator=(SCALAR.emulator[0], "-cpu", "rv64,v=true,vlen=128", *SCALAR.emulator[1:]),
    packages=f"clang {SCALAR.packages}",
)

if __name__ == "__main__":
    from devices import main

    main(["rv64v"])
